"""Tokens: kept as hashes, found by nobody else, gone when revoked."""

from datetime import timedelta

import pytest
from django.utils import timezone

from connect.models import Token
from connect.tokens import keys
from oneclaw.masking import mask
from people.models import User
from tests.connect.conftest import token_for

pytestmark = pytest.mark.django_db


def test_a_token_stands_for_its_owner(ada: User) -> None:
    token, secret = keys.make(ada, "Laptop", Token.Scope.WRITE)
    caller = keys.find(secret)
    assert caller is not None
    assert (caller.user, caller.name, caller.token_id, caller.may_write) == (ada, "Laptop", token.pk, True)


def test_only_the_hash_is_kept(ada: User) -> None:
    secret = token_for(ada)
    row = Token.objects.values().get()
    assert secret not in str(row)
    assert secret[3:] not in str(row)
    assert row["token_hash"] == keys.digest(secret)


def test_no_two_are_alike(ada: User) -> None:
    secrets = {token_for(ada) for _ in range(20)}
    assert len(secrets) == 20
    assert all(keys.SHAPE.fullmatch(secret) for secret in secrets)


def test_a_read_token_may_not_write(ada: User) -> None:
    caller = keys.find(token_for(ada, Token.Scope.READ))
    assert caller is not None
    assert not caller.may_write


@pytest.mark.parametrize("wrong", ["", "oc_", "oc_" + "a" * 43, "x" * 5000, "Bearer", "oc_ä" + "a" * 42])
def test_others_stand_for_nobody(ada: User, wrong: str) -> None:
    token_for(ada)
    assert keys.find(wrong) is None


def test_the_hash_itself_is_no_token(ada: User) -> None:
    token_for(ada)
    assert keys.find(Token.objects.get().token_hash) is None


def test_a_revoked_token_stands_for_nobody(ada: User) -> None:
    token, secret = keys.make(ada, "Laptop", Token.Scope.READ)
    caller = keys.find(secret)
    assert caller is not None
    assert keys.is_valid(caller)
    assert keys.revoke(ada, token.pk)
    assert keys.find(secret) is None
    assert not keys.is_valid(caller)


def test_a_disabled_account_has_no_tokens(ada: User) -> None:
    secret = token_for(ada)
    caller = keys.find(secret)
    assert caller is not None
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert keys.find(secret) is None
    assert not keys.is_valid(caller)


def test_nobody_revokes_anothers(ada: User, ben: User) -> None:
    token, secret = keys.make(ada, "Laptop", Token.Scope.READ)
    assert not keys.revoke(ben, token.pk)
    assert keys.find(secret) is not None


def test_its_last_use_is_noted_once_a_minute(ada: User) -> None:
    secret = token_for(ada)
    keys.find(secret)
    first = Token.objects.get().last_used_at
    assert first is not None
    keys.find(secret)
    assert Token.objects.get().last_used_at == first
    Token.objects.update(last_used_at=timezone.now() - timedelta(minutes=5))
    keys.find(secret)
    again = Token.objects.get().last_used_at
    assert again is not None
    assert again >= first


def test_one_has_only_so_many(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "MOST", 2)
    token_for(ada)
    token_for(ada)
    with pytest.raises(keys.TooMany, match="revoke one"):
        token_for(ada)


def test_a_token_in_a_text_is_a_secret(ada: User) -> None:
    secret = token_for(ada)
    assert mask(f"My token is {secret}, keep it.") == "My token is [secret], keep it."
    assert mask(f"ONECLAW_TOKEN={secret}") == "ONECLAW_TOKEN=[secret]"
