"""What a message asks of memory in its writer's own words: to remember, to forget, to write nothing down."""

import re

from memory.speech.pasted import own_words
from memory.speech.phrases import phrases, plain

LONGEST = 5_000  # characters; a longer message is no request, but holds one in its first words
# A rule for every answer stands at the start of a sentence: "I always take the train" is none.
RULE = re.compile(r"(?:^|[.!;:\n][^\S\n]*+)(?:please,? )?(?:always|never) [a-z]")
SENTENCE_END = r"\s*(?=$|[.,;:!?)\n…–—。，！？、]|- )"
# "Forget that …": what stands behind these words is to go.
FORGET = re.compile(
    r"(?:^|[.!?\n,;] ?|\b(?:please|now|ok(?:ay)?|bitte|por favor)[,:]? )"
    r"(?:(?:can|could|would) you (?:please )?|i(?:'d like| want) you to |please |bitte |por favor,? )?"
    r"(?:forget (?:everything |anything |all )?(?:what i (?:said|told you) )?(?:about |that |my |our |the )"
    r"|(?:erase|delete|remove) (?=[^\n]{2,200} from (?:your |my |the )?memory)"
    r"|vergiss (?:bitte )?(?:alles |das )?(?:über |von |zu |mit |dass |, dass |mein(?:e|en)? )"
    r"|olvida (?:todo )?(?:lo )?(?:de |sobre |que |mi )"
    r"|oublie (?:tout )?(?:ce )?(?:sur |que |qu'|à propos d[e'] ?|mon |ma ))"
    r"(?P<what>[^\n]{2,300})"
    r"|(?:请|請)?(?:忘记|忘記|忘掉)(?:关于|關於|我说的|我說的)?(?P<chinese>[^\n。！]{2,200}?)"
    r"(?:的事|的事情|的内容)?(?=$|[\n。！])"
    r"|(?P<japanese>[^\n。、！]{2,100}?)(?:のこと|について|という話)?(?:は|を)?忘れて"
    r"(?:ください|下さい|くれ|ね|ほしい)?(?=$|[\n。！])",
)
FROM_MEMORY = re.compile(r" from (?:your |my |the )?memory.*", re.DOTALL)
# "Forget it" says nothing about what.
VAGUE = frozenset(("it", "that", "this", "about it", "about that", "about this", "i asked", "question"))
# "Don't write this down" and its like, by language. Words after "this" would make it about a file.
SILENCE = re.compile(
    "|".join(
        (
            r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )(?:\bdon't|\bdo not|\bdont|\bnever) (?:ever )?(?:"
            r"(?:write|note|jot) (?:this|that|it|any of (?:this|that|it)|anything)(?: here)? down"
            r"|(?:remember|save|store|log|record|keep|note|memori[sz]e) "
            r"(?:this|that|it|any of (?:this|that|it))"
            r"(?: (?:in|to|into|for) (?:your |the |my )?(?:memory|memories|logs?|notes|later|diary)"
            rf"|{SENTENCE_END})"
            r"|put (?:this|that|it) (?:in|into) (?:your |the |my )?(?:memory|logs?|notes|diary))",
            r"\boff the record\b|\bkeep (?:this|that|it) between us\b|\bjust between (?:us|you and me)\b",
            r"\b(?:this|that) stays between us\b",
            r"\bschreibe?(?: dir)? (?:das|dies|es)(?: bitte)? (?:bitte )?nicht auf\b",
            r"\bschreibe?(?: dir)? (?:nichts davon|davon nichts) auf\b",
            r"\b(?:merke? dir|notiere?|speichere?|behalte?) (?:das|dies|es)(?: bitte)? nicht\b",
            r"\bnicht (?:mitschreiben|aufschreiben|protokollieren|merken|notieren)\b",
            r"\bunter uns gesagt\b|\bdas bleibt unter uns\b",
            r"\bno (?:lo |la )?(?:anotes|apuntes|guardes|recuerdes|escribas|registres)"
            rf"(?: (?:esto|eso|nada de esto))?{SENTENCE_END}",
            r"\bextraoficialmente\b|\bque quede entre nosotros\b|\bentre tú y yo\b",
            r"\bn'(?:écris|enregistre|inscris) pas (?:ça|cela|ceci)\b",
            r"\bne (?:note|retiens|garde|mémorise) pas (?:ça|cela|ceci)\b",
            r"\bne l'(?:écris|enregistre) pas\b|\bça reste entre nous\b",
            r"(?:不要|别|別|不用|请勿|請勿)(?:把这个|把這個|把这|把這|把它)?"
            r"(?:记下|記下|记住|記住|记录|記錄|写下|寫下|保存|存下|记|記)(?:来|來|这|這|它|$|[。！，\s])",
            r"(?:書き留め|書か|記録し|覚え|メモし|保存し|残さ)ないで|オフレコ|ここだけの話",
        )
    )
)


def asks_to_remember(message: str) -> bool:
    """Whether a message asks to have something kept; "do you remember …?" does not."""
    said = phrases("recalling").pattern.sub(" ", plain(own_words(message[:LONGEST])))
    return phrases("remembering").are_in(said) or RULE.search(said) is not None


def asks_to_forget(message: str) -> str:
    """What a message asks to have forgotten, if it does."""
    said = plain(own_words(message[:LONGEST]))
    match = FORGET.search(said)
    if match is None:
        return ""
    found = FROM_MEMORY.sub("", match["what"] or match["chinese"] or match["japanese"])
    found = found.strip(" .!?:,。！？「」\"'")
    return "" if found in VAGUE or len(found) < 2 else found


def asks_for_silence(message: str) -> bool:
    """Whether a message asks to be kept off the record."""
    return SILENCE.search(plain(own_words(message[:LONGEST]))) is not None
