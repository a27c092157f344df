"""English pronouns: their person, number and gender, where they have one."""

from typing import NamedTuple

__all__ = ["PRONOUNS", "Features"]


class Features(NamedTuple):
    """What two mentions of one thing agree in; an empty string agrees with anything."""

    person: str = ""
    number: str = ""
    gender: str = ""


# Person, number, gender, and the pronouns that have them, reflexive and possessive ones included.
_LISTED = (
    ("1", "singular", "", "i me my mine myself"),
    ("1", "plural", "", "we us our ours ourselves"),
    ("2", "", "", "you your yours thou thee thy thine ye ya"),
    ("2", "singular", "", "yourself thyself"),
    ("2", "plural", "", "yourselves"),
    ("3", "singular", "masculine", "he him his himself"),
    ("3", "singular", "feminine", "she her hers herself"),
    ("3", "singular", "neuter", "it its itself"),
    ("3", "plural", "", "they them their theirs themselves 'em"),
    ("3", "", "", "who whom whose which that one oneself"),
    ("3", "singular", "", "this each another someone everyone anyone somebody everybody anybody themself"),
    ("3", "plural", "", "these those both others"),
)
PRONOUNS = {
    pronoun: Features(person, number, gender)
    for person, number, gender, pronouns in _LISTED
    for pronoun in pronouns.split()
}
