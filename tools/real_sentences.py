"""The sentences that the heads of a real model are measured on; all are the book's own.

In SENTENCES, word/s is a subject and word/v its verb; odd places have them side by side, even places apart.
Minimal pairs differ in one word, the pronoun, and in nothing else.
"""

import itertools
import re

SENTENCES = """
The gardener/s watered/v the roses before breakfast.
The letters/s from my oldest friend arrived/v on Monday.
Our neighbour/s sings/v in the church choir.
The painter/s who lives next door sold/v three pictures.
A small fox/s crossed/v the road at night.
The windows/s of the empty house rattled/v in the wind.
The judge/s read/v the letter twice.
The boy/s with the broken arm won/v the race.
Two sailors/s repaired/v the old boat.
The price/s of fresh bread rose/v again this year.
The musician/s lost/v her keys near the station.
The books/s on the top shelf belong/v to my aunt.
My brother/s paints/v wooden chairs.
The engineer/s that the company hired resigned/v after a week.
The train/s left/v without the driver.
The lights/s in the long corridor went/v out.
Every student/s knows/v this story.
The farmer/s near the river grows/v apples and pears.
The kitchen/s smelled/v of coffee.
The captain/s of the losing team thanked/v the crowd.
The king/s built/v a bridge over the lake.
The answers/s to the last question surprised/v the teacher.
A stranger/s knocked/v at the door.
The cook/s who made the soup burned/v his hand.
The dogs/s barked/v at the postman.
The road/s between the two villages follows/v the coast.
The nurse/s closed/v the window quietly.
The owner/s of the black horse lives/v in Spain.
The clouds/s hid/v the moon.
The man/s that my parents met yesterday plays/v the piano.
The baker/s opened/v the shop at five.
The children/s from the village school planted/v a tree.
Rain/s filled/v the empty barrels.
The key/s under the wooden box opens/v the gate.
The singer/s forgot/v the second verse.
The ships/s in the narrow harbour carried/v salt.
The lawyer/s answered/v every question.
The woman/s beside the tall window wrote/v a poem.
The river/s runs/v through the city.
The smell/s of the old library reminded/v me of home.
""".strip().splitlines()

# Choose on the first, test on the second: other names, other verbs, other endings.
NAMES = (
    "Mary John,Anna Peter,Laura Paul,Alice Robert,Emma David,Helen George,Lucy Henry,Clara Frank",
    "Sarah Tom,Julia James,Kate Mark,Maria Daniel,Sophie Simon,"
    "Rachel Martin,Nancy Arthur,Diana Victor,Rose Philip,Eva Carl",
)
NAME_FRAMES = (
    ("{} thanked {}", "{} called {}"),
    ("{} visited {}", "{} warned {}", "{} followed {}"),
)
NAME_ENDS = (
    ("because {} was tired.", "when {} came home."),
    ("because {} had the key.", "before {} left the town.", "after {} lost the game."),
)
# One thing and several: "it" and "they". The verb of the ending is in the past, the same for both.
NOUNS = (
    "dog birds,truck horses,cat boys,train guests,horse children,boat girls,bird cats,robot workers",
    "engine students,wolf sheep,car dogs,tiger men,bus women,"
    "cow soldiers,plane farmers,duck frogs,lion tourists,bear hunters",
)
NOUN_FRAMES = (
    ("The {} followed the {}", "The {} passed the {}"),
    ("The {} watched the {}", "The {} reached the {}", "The {} met the {}"),
)
NOUN_ENDS = (
    ("because {} moved slowly.", "before {} stopped."),
    ("because {} made a noise.", "when {} turned around.", "until {} came back."),
)

DOG = "The dog chased the ball because it was {}."
DOG_WORDS = {  # who is meant by "it" -> words that say so
    "dog": {"choose": ("hungry", "angry", "thirsty"), "held_out": ("lonely", "excited", "tired")},
    "ball": {"choose": ("round", "red", "expensive"), "held_out": ("plastic", "shiny", "new")},
}

# Shown in the chapter and stored with what the heads are given in them.
SHOWN = (
    "The dog chased the ball because it was fast.",
    "Sarah warned Tom because she had the key.",
    "Sarah warned Tom because he had the key.",
    "The engine reached the students because it made a noise.",
    "The engine reached the students because they made a noise.",
    "The letters from my oldest friend arrived on Monday.",
)


def marked(sentence):
    """(text, place of the subject, place of the verb) of a marked sentence; places among words and marks."""
    words = re.findall(r"[\w/]+|[^\w\s]", sentence)
    subject, verb = (next(i for i, w in enumerate(words) if w.endswith(end)) for end in ("/s", "/v"))
    return re.sub(r"/\w", "", sentence), subject, verb


def minimal_pairs(couples, frames, ends, pronouns):
    """[(number of the couple, ((text, pronoun, meant, other), the same with the other pronoun))]."""
    found = []
    for i, couple in enumerate(couples.split(",")):
        first, second = couple.split()
        for frame, end, (a, b) in itertools.product(frames, ends, ((first, second), (second, first))):
            start = frame.format(a, b)
            pair = [
                (f"{start} {end.format(pronoun)}", pronoun, meant, second if meant == first else first)
                for pronoun, meant in zip(pronouns, (first, second))
            ]
            found.append((i, tuple(pair)))
    return found


def name_pairs(part):
    """Pairs of she and he; part 0 chooses, part 1 tests."""
    return minimal_pairs(NAMES[part], NAME_FRAMES[part], NAME_ENDS[part], ("she", "he"))


def noun_pairs(part):
    """Pairs of it and they; part 0 chooses, part 1 tests."""
    return minimal_pairs(NOUNS[part], NOUN_FRAMES[part], NOUN_ENDS[part], ("it", "they"))
