"""Texts in old encodings: read where it is certain which, and never by the wrong table."""

import pytest

from chat.attachments import kinds

TEXTS = {
    "Japanese": "こんにちは、元気ですか。今日は東京で会議があります。",
    "Korean": "안녕하세요. 오늘은 서울에서 회의가 있습니다.",
    "simplified": "你好，今天我们在北京开会，请把文件发给我。",
    "traditional": "你好，今天我們在臺北開會，請把文件寄給我。",
    "Russian": "Привет, как дела? Завтра встреча в Москве.",
    "Ukrainian": "Привіт, як справи? Завтра зустріч у Києві.",
    "Italian": "Perché è così? La città è più in là, e là è già tutto finito: è vero, è così. È lì.",
    "French": "Voilà l'été : où êtes-vous ? Ça s'est créé à côté.",
    "German": "Grüße aus Zürich: Übung, Ärger, Öl und größere Maße.",
}
CERTAIN = [
    ("Japanese", "cp932"),
    ("Japanese", "euc_jp"),
    ("Korean", "cp949"),
    ("simplified", "gb18030"),
    ("traditional", "big5"),
    ("Russian", "cp1251"),
    ("Russian", "koi8_r"),
    ("Ukrainian", "cp1251"),
    ("Italian", "cp1252"),
    ("French", "cp1252"),
    ("German", "cp1252"),
    ("German", "utf-16-le"),
    ("French", "utf-16-be"),
]


@pytest.mark.parametrize(("name", "encoding"), CERTAIN)
def test_a_text_is_read_in_the_encoding_it_was_written_in(name: str, encoding: str) -> None:
    assert kinds.decoded(TEXTS[name].encode(encoding)) == TEXTS[name]


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp", "gb18030"])
def test_a_comment_in_a_source_file_is_enough(encoding: str) -> None:
    text = "def total(rows):\n    # 合計をもとめます。たぶん正しいです。\n    return sum(rows)\n"
    if encoding == "gb18030":
        text = text.replace("合計をもとめます。たぶん正しいです。", "计算所有行的总和，并返回结果。")
    assert kinds.decoded(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "data",
    [
        "Καλημέρα, τι κάνετε; Αύριο έχουμε συνάντηση.".encode("cp1253"),
        "ПРИКАЗ ДИРЕКТОРА О НАЗНАЧЕНИИ НА ДОЛЖНОСТЬ".encode("cp1251"),
        "שלום, מה שלומך היום? מחר יש פגישה".encode("cp1255"),
        "Привет, как дела? Завтра встреча.".encode("iso8859_5"),
        "สวัสดีครับวันนี้ประชุมที่กรุงเทพ".encode("cp874"),
        "你好，世界".encode("utf-16-le"),
        "odd".encode("utf-16-le") + b"x",
        b"MZ\x90\0\x03\0\0\0\xff\xff",
    ],
)
def test_what_is_not_certain_stays_unread(data: bytes) -> None:
    assert kinds.by_content(data) is None


@pytest.mark.parametrize(("name", "encoding"), [("Polish", "cp1250"), ("Turkish", "cp1254")])
def test_no_neighbour_is_taken_for_another_script(name: str, encoding: str) -> None:
    text = {"Polish": "Zażółć gęślą jaźń, źdźbło.", "Turkish": "Günaydın, şimdi İstanbul'da."}[name]
    read = kinds.decoded(text.encode(encoding)) or ""
    assert not any(letter > "\u0370" and letter.isalpha() for letter in read)
