"""The victim, and clients of those who are none of their business."""

import pytest
from django.test import Client

from people.models import User
from tests.connect.conftest import nothing_counted  # noqa: F401
from tests.security import victim as victims
from tests.security.victim import Victim


@pytest.fixture
def victim(db: None) -> Victim:
    return victims.make()


@pytest.fixture
def admin(ada: User) -> Client:
    client = Client(headers={"host": "localhost"})
    client.force_login(ada)
    return client
