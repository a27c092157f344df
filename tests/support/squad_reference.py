"""The scores of the official SQuAD script, written from its definition, slowly: loops over characters, exact fractions,
and a search over every threshold."""

from fractions import Fraction

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def words(text):
    """The words that count: runs between spaces, without punctuation, and without articles between word boundaries."""
    letters = [c for c in text.lower() if c not in PUNCTUATION]
    kept, run = [], []
    for c in [*letters, " "]:
        if c.isalnum():
            run.append(c)
            continue
        kept += [" "] if "".join(run) in ("a", "an", "the") else run
        kept.append(c)
        run = []
    found, word = [], ""
    for c in [*kept, " "]:
        if not c.isspace():
            word += c
        elif word:
            found.append(word)
            word = ""
    return found


def exact(gold, answer):
    return Fraction(int(" ".join(words(gold)) == " ".join(words(answer))))


def f1(gold, answer):
    expected, given = words(gold), words(answer)
    if not expected or not given:
        return Fraction(int(expected == given))
    rest, same = list(expected), 0
    for word in given:
        if word in rest:
            rest.remove(word)
            same += 1
    return Fraction(2 * same, len(expected) + len(given))


def best(measure, golds, answer):
    texts = [gold for gold in golds if words(gold)]
    return max(measure(gold, answer) for gold in texts) if texts else measure("", answer)


def scores(golds, predictions, no_answer=None, threshold=1.0):
    """Every number of the script as a fraction of 100; golds: id to list of texts."""
    result = {}
    asked = [name for name in golds if name in predictions]
    groups = {"": asked, "HasAns_": [n for n in asked if golds[n]], "NoAns_": [n for n in asked if not golds[n]]}
    for prefix, names in groups.items():
        if names:
            for measure in (exact, f1):
                total = sum(_at(measure, golds, predictions, no_answer, threshold, name) for name in names)
                result[prefix + measure.__name__] = 100 * total / len(names)
            result[prefix + "total"] = len(names)
    for measure in (exact, f1) if no_answer is not None else ():
        value, at = search(measure, golds, predictions, no_answer)
        result["best_" + measure.__name__], result[f"best_{measure.__name__}_thresh"] = value, at
    return result


def _at(measure, golds, predictions, no_answer, threshold, name):
    if no_answer is not None and no_answer[name] > threshold:
        return Fraction(int(not golds[name]))
    return best(measure, golds[name], predictions[name])


def search(measure, golds, predictions, no_answer):
    """Try a threshold below all probabilities, reported as 0, and each probability: the least of the best."""
    asked = [name for name in golds if name in predictions]
    tried = []
    for threshold in [float("-inf"), *sorted({no_answer[name] for name in asked})]:
        total = sum(_at(measure, golds, predictions, no_answer, threshold, name) for name in asked)
        tried.append((total, threshold))
    value = max(total for total, _ in tried)
    at = min(threshold for total, threshold in tried if total == value)
    return 100 * value / len(asked), max(at, 0.0)


def running(measure, golds, predictions, no_answer):
    """The script's own way: questions one after another, from the least probability of no answer."""
    current = found = sum(not gold for gold in golds.values())
    at = 0.0
    for name in sorted(no_answer, key=no_answer.get):
        current += best(measure, golds[name], predictions[name]) if golds[name] else -1 if predictions[name] else 0
        if current > found:
            found, at = current, no_answer[name]
    return 100 * Fraction(found) / len(golds), at
