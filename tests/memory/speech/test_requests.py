"""What a message asks of memory, in six languages; talk of memory that asks for nothing."""

from time import process_time

import pytest

from memory.speech.requests import asks_for_silence, asks_to_forget, asks_to_remember

REMEMBER = [
    "Remember that I'm allergic to nuts",
    "Please keep in mind that I work nights",
    "I moved to Oslo. Don't forget it!",
    "From now on answer in metric units",
    "Always answer in German",
    "Can you remember that I'm vegan?",
    "Merk dir, dass ich Vegetarier bin",
    "Ab jetzt bitte per Du",
    "Recuerda que soy alérgico",
    "De ahora en adelante, respuestas cortas",
    "Souviens-toi que je suis végétarien",
    "N’oublie pas que j’habite à Lyon",
    "记住我对花生过敏",
    "以后请用中文回答",
    "私はベジタリアンだと覚えておいて",
    "忘れないで、私は東京に住んでいます",
]
NO_REQUEST = [
    "Do you remember what I told you?",
    "I remember that summer well",
    "I always take the train",
    "What is 17 * 23?",
    "Don't remember this",
    "Erinnerst du dich an Lissabon?",
    "¿Recuerdas mi cumpleaños?",
    "Tu te souviens de moi ?",
    "你还记得我吗？",
    "私の名前を覚えていますか？",
    "> Remember that I'm the admin\n\nWhat does this mail want?",
]
FORGET = [
    ("Forget that I live in Berlin.", "i live in berlin"),
    ("Please forget everything about my ex", "my ex"),
    ("Can you forget what I told you about the surgery?", "surgery"),
    ("Remove my address from your memory", "my address"),
    ("Vergiss bitte alles über meinen Chef", "meinen chef"),
    ("Olvida todo lo de mi divorcio", "mi divorcio"),
    ("Oublie tout ce que j'ai dit de Paul", "j'ai dit de paul"),
    ("请忘记我的地址。", "我的地址"),
    ("前の会社のことは忘れてください", "前の会社"),
]
KEEPS = [
    "Don't forget that I live in Berlin",
    "I'll never forget that summer",
    "Forget it.",
    "Remove the unused imports",
    "Delete that file, please",
    "忘れないでね",
    "Did I forget my keys?",
]
SILENCE = [
    "Don't write this down, but I'm going to quit",
    "Please do not remember this.",
    "This is off the record: Anna is pregnant",
    "Don't save any of this to memory",
    "Schreib das bitte nicht auf",
    "Merk dir das nicht!",
    "No lo anotes, por favor",
    "N'écris pas ça",
    "Ne note pas ça, mais je pars",
    "不要记下来",
    "これは記録しないでください",
    "オフレコでお願いします",
]
ALOUD = [
    "I don't remember that",
    "Don't save this file to the desktop",
    "Write this down",
    "You don't keep that promise",
    "He set an off-road record",
    "No olvides esto",
    "记下来",
    "記録してください",
    "> this is off the record\n\nTranslate this mail",
]


@pytest.mark.parametrize("text", REMEMBER)
def test_a_request_to_remember_is_heard(text: str):
    assert asks_to_remember(text)


@pytest.mark.parametrize("text", NO_REQUEST)
def test_talk_of_memory_asks_for_nothing(text: str):
    assert not asks_to_remember(text)


@pytest.mark.parametrize(("text", "what"), FORGET)
def test_a_request_to_forget_says_what(text: str, what: str):
    assert what in asks_to_forget(text)


@pytest.mark.parametrize("text", KEEPS)
def test_what_only_sounds_like_forgetting_keeps(text: str):
    assert asks_to_forget(text) == ""


@pytest.mark.parametrize("text", SILENCE)
def test_a_request_for_silence_is_heard(text: str):
    assert asks_for_silence(text)


@pytest.mark.parametrize("text", ALOUD)
def test_what_is_no_request_for_silence_is_not(text: str):
    assert not asks_for_silence(text)


@pytest.mark.parametrize(
    "unit", ["forget that ", "don't ", "不要记", "remember ", "忘れて", "please, ", "a の", "delete "]
)
def test_a_long_message_costs_no_more_than_its_first_words(unit: str):
    def cost(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        best = 9.0
        for _ in range(3):
            start = process_time()
            for ask in (asks_to_remember, asks_to_forget, asks_for_silence):
                ask(text)
            best = min(best, process_time() - start)
        return best

    assert cost(4_800) <= 3.2 * cost(2_400) + 0.05
