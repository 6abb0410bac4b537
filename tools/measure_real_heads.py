"""What the 72 heads of all-MiniLM-L6-v2 do on sentences: the numbers of book/data/real_heads.json.

`tools/make_real_heads.py` calls `measure` and writes the file. A head is chosen on one half of the sentences and
reported on the other, so that choosing the best of 72 flatters none.
"""

import itertools
import re
from collections import Counter

import numpy as np
from real_sentences import DOG, DOG_WORDS, SENTENCES, marked, name_pairs, noun_pairs

ROLES = ("previous", "next", "itself", "[CLS]", "[SEP]", "full stop")
DRAWS = 2000  # of the bootstrap
LEAST = 0.1  # weight on the two nouns together, without which a head is not said to prefer one
RANDOM_ORDERS = 10
PRUNED = (0, 12, 24, 36, 48, 60, 72)


def measure(model):
    """All results, as plain data."""
    runs = [run_marked(model, sentence) for sentence in SENTENCES]
    parts = {"choose": [], "held_out": []}
    for i, run in enumerate(runs):  # of four in a row two each: one subject next to its verb, one far from it
        parts["choose" if i % 4 < 2 else "held_out"].append(run)
    return {
        "sentences": {part: [text for text, *_ in found] for part, found in parts.items()},
        "roles": roles(parts),
        "verb_subject": verb_subject(parts),
        "he_she": pairs(model, name_pairs),
        "it_they": pairs(model, noun_pairs),
        "dog": dog(model),
        **ablation(model, parts),
    }


def rounded(array, digits=6):
    return np.round(np.asarray(array, dtype=float), digits).tolist()


def run_marked(model, sentence):
    """(text, its Run, place of the subject, place of the verb), places among the word pieces."""
    text, subject, verb = marked(sentence)
    run, words = model(text), re.findall(r"\w+|[^\w\s]", text)
    places = [i for i, token in enumerate(run.tokens) if not token.startswith("##")][1:-1]  # where a word begins
    assert len(places) == len(words), text
    for place in (subject, verb):
        assert run.tokens[places[place]] == words[place].lower(), f"{words[place]} is cut into pieces"
    return text, run, places[subject], places[verb]


def roles(parts):
    """Mean weight that a head puts on each role's token, over queries that are words; and without [CLS] and [SEP]."""
    found = {}
    for part, runs in parts.items():
        sums, counts, words = {}, Counter(), []
        for _, run, *_ in runs:
            A, n = run.weights.astype(float), len(run.tokens)
            q = np.arange(1, n - 1)
            masses = {
                "previous": A[:, :, q[1:], q[1:] - 1],
                "next": A[:, :, q[:-1], q[:-1] + 1],
                "itself": A[:, :, q, q],
                "[CLS]": A[:, :, q, 0],
                "[SEP]": A[:, :, q, n - 1],
                "full stop": A[:, :, q[:-1], n - 2],
            }
            for role, mass in masses.items():
                sums[role] = sums.get(role, 0) + mass.sum(axis=-1)
                counts[role] += mass.shape[-1]
            words.append(A[:, :, 1:-1, 1:-1] / A[:, :, 1:-1, 1:-1].sum(axis=-1, keepdims=True))
        found[part] = {role: rounded(sums[role] / counts[role]) for role in ROLES}
        found[part]["any one key"] = rounded(np.mean([1 / len(run.tokens) for _, run, *_ in runs]))
        found[part]["without specials"] = {
            "previous": rounded(mean([w[:, :, np.arange(1, w.shape[-1]), np.arange(w.shape[-1] - 1)] for w in words])),
            "next": rounded(mean([w[:, :, np.arange(w.shape[-1] - 1), np.arange(1, w.shape[-1])] for w in words])),
            "itself": rounded(mean([w[:, :, np.arange(w.shape[-1]), np.arange(w.shape[-1])] for w in words])),
            "full stop": rounded(mean([w[:, :, :-1, -1] for w in words])),
        }
    return found


def mean(masses):
    return np.concatenate(masses, axis=-1).mean(axis=-1)


def verb_subject(parts):
    """Does the verb look most at its subject, among words? Beside the best fixed offset, both chosen on one half."""
    hits, offsets, distances = {}, {}, {}
    for part, runs in parts.items():
        rows, distances[part] = [], [int(verb - subject) for *_, subject, verb in runs]
        for _, run, subject, verb in runs:
            row = run.weights[:, :, verb].copy()
            row[..., [0, verb, -2, -1]] = -1  # [CLS], itself, full stop, [SEP]
            rows.append(row.argmax(axis=-1) == subject)
        hits[part] = np.array(rows)  # (sentences, layers, heads)
        offsets[part] = {d: float(np.mean([x == d for x in distances[part]])) for d in range(1, 9)}
    best = best_of(hits["choose"].mean(axis=0))
    offset = max(offsets["choose"], key=offsets["choose"].get)
    far = np.array(distances["held_out"]) != offset
    return {
        "share": {part: rounded(h.mean(axis=0)) for part, h in hits.items()},
        "distances": distances,
        "best": best,
        "best_right": {part: int(h[:, *best].sum()) for part, h in hits.items()},
        "best_right_far": int(hits["held_out"][far][:, *best].sum()),
        "best_interval": wilson(int(hits["held_out"][:, *best].sum()), len(far)),
        "offset": offset,
        "offset_right": {part: int(sum(x == offset for x in d)) for part, d in distances.items()},
        "far": int(far.sum()),
        "most_of_all_heads_held_out": int(hits["held_out"].sum(axis=0).max()),
    }


def pairs(model, make):
    """Minimal pairs: does the pronoun look more at the noun that it must mean, in both sentences of a pair?"""
    found = {}
    for part, number in (("choose", 0), ("held_out", 1)):
        both, masses, couples = [], [], []
        for couple, pair in make(number):
            rows = np.array([noun_weights(model, *member) for member in pair])  # (2, meant or other, layers, heads)
            both.append((rows[:, 0] > rows[:, 1]).all(axis=0))
            masses.append(rows.mean(axis=0))
            couples.append(couple)
        found[part] = np.array(both), np.array(masses), np.array(couples)
    nouns = {part: masses.mean(axis=(0, 1)) for part, (_, masses, _) in found.items()}  # mean over both sentences
    looks = 2 * nouns["choose"] >= LEAST
    share = found["choose"][0].mean(axis=0)
    best, any_head = best_of(np.where(looks, share, -1)), best_of(share)
    both, masses, couples = found["held_out"]
    example = make(1)[0][1]
    return {
        "both_right": {part: rounded(b.mean(axis=0)) for part, (b, *_) in found.items()},
        "pairs": {part: len(b) for part, (b, *_) in found.items()},
        "both_nouns": rounded(2 * nouns["held_out"]),
        "least": LEAST,
        "heads_that_look": int(looks.sum()),
        "best": best,
        "best_interval": bootstrap(both[:, *best], couples),
        "best_weights": rounded(masses[:, :, *best].mean(axis=0)),
        "best_of_all": any_head,
        "best_of_all_interval": bootstrap(both[:, *any_head], couples),
        "best_of_all_weights": rounded(masses[:, :, *any_head].mean(axis=0)),
        "median_head": rounded(np.median(both.mean(axis=0))),
        "heads_over_chance": int((both.mean(axis=0) > 0.25).sum()),
        "example": [member[0] for member in example],
    }


def noun_weights(model, text, pronoun, meant, other):
    """Weights of the pronoun on the noun it must mean and on the other, (2, layers, heads)."""
    run = model(text)
    row = run.weights[:, :, run.tokens.index(pronoun)]
    return [row[..., run.tokens.index(noun.lower())] for noun in (meant, other)]


def dog(model):
    """Where "it" looks, and whether any head moves with the last word as the meaning does."""
    run = model(DOG.format("fast"))
    it, dog_at, ball_at = (run.tokens.index(w) for w in ("it", "dog", "ball"))
    rows = run.weights[:, :, it]
    right, prefers = {"choose": [], "held_out": []}, []
    for part, (meant, words) in itertools.product(right, DOG_WORDS.items()):
        for word in words[part]:
            row = model(DOG.format(word)).weights[:, :, it]
            prefers.append(row[..., dog_at] > row[..., ball_at])
            right[part].append(prefers[-1] == (meant == "dog"))
    follow = np.all(right["choose"], axis=0)
    new = [
        {"head": best, "right": int(np.sum(right["held_out"], axis=0)[tuple(best)])}
        for best in np.argwhere(follow).tolist()
    ]
    words = rows.copy()
    words[..., [0, it, -2, -1]] = -1
    return {
        "tokens": run.tokens,
        "most": Counter(run.tokens[i] for i in rows.argmax(axis=-1).ravel()),
        "most_among_other_words": Counter(run.tokens[i] for i in words.argmax(axis=-1).ravel()),
        "dog": rounded(rows[..., dog_at]),
        "ball": rounded(rows[..., ball_at]),
        "words": DOG_WORDS,
        "heads_that_follow": new,
        "heads_that_ignore_the_word": int((np.array(prefers) == prefers[0]).all(axis=0).sum()),
    }


def ablation(model, parts):
    """Change of the sentence embedding, 1 - cosine, without one head; cosine without more and more of them."""
    batches = {part: by_length(model, [text for text, *_ in runs]) for part, runs in parts.items()}
    whole = {part: [model.embedding(ids) for ids in batch] for part, batch in batches.items()}

    def cosine(heads, part):
        cut = model.without(heads)
        return np.concatenate([(cut.embedding(ids) * e).sum(axis=-1) for ids, e in zip(batches[part], whole[part])])

    every = [(layer, head) for layer in range(6) for head in range(12)]
    change = {part: np.array([1 - cosine([head], part).mean() for head in every]) for part in parts}
    ranked = [every[i] for i in change["choose"].argsort()]
    rng = np.random.default_rng(0)
    orders = [[every[i] for i in rng.permutation(72)] for _ in range(RANDOM_ORDERS)]
    curve = [float(cosine(ranked[:k], "held_out").mean()) for k in PRUNED]
    by_chance = np.array([[cosine(order[:k], "held_out").mean() for k in PRUNED] for order in orders])
    return {
        "ablation": {part: rounded(c.reshape(6, 12), 6) for part, c in change.items()},
        "pruning": {
            "heads": list(PRUNED),
            "ranked": rounded(curve),
            "random_mean": rounded(by_chance.mean(axis=0)),
            "random_sd": rounded(by_chance.std(axis=0, ddof=1)),
            "random_orders": RANDOM_ORDERS,
        },
    }


def by_length(model, texts):
    """Word pieces of texts as one array a length."""
    groups = {}
    for text in texts:
        ids = model.encode(text)[1]
        groups.setdefault(len(ids), []).append(ids)
    return [np.array(group) for group in groups.values()]


def best_of(shares):
    """[layer, head] with the largest share."""
    return [int(i) for i in np.unravel_index(np.argmax(shares), shares.shape)]


def bootstrap(right, couples):
    """95 % interval of a share: couples of nouns are drawn again, as pairs of one couple are alike."""
    rng, kinds = np.random.default_rng(0), np.unique(couples)
    by_couple = np.array([right[couples == c].mean() for c in kinds])
    means = by_couple[rng.integers(len(kinds), size=(DRAWS, len(kinds)))].mean(axis=1)
    return rounded(np.quantile(means, [0.025, 0.975]))


def wilson(right, n, z=1.96):
    """95 % interval of right of n (Wilson 1927)."""
    p, extra = right / n, z * z / n
    middle, half = p + extra / 2, z * np.sqrt(p * (1 - p) / n + extra / (4 * n))
    return rounded([(middle - half) / (1 + extra), (middle + half) / (1 + extra)])
