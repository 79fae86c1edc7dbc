"""Ends of lines, items of lists, speakers and mark-up."""

from __future__ import annotations

import io
import time

import pytest

from reranker.text.layout import Layout, item_mark, layout_of, line_ends, masked
from reranker.text.splitting import TextForm, stretches


def split(
    text: str, form: TextForm = "text", speakers: bool | None = None
) -> tuple[list[str], list[str]]:
    """Return the sentences, with the speaker and `>` in front, and the messages."""
    messages: list[str] = []
    found = stretches(
        io.StringIO(text, newline="\n"), form, speakers=speakers, report=messages.append
    )
    sentences = []
    for each in found:
        assert text.startswith(each.text, each.start)
        words = " ".join((each.read or each.text).split())
        sentences.append(f"{each.speaker}> {words}" if each.speaker else words)
    return sentences, messages


LETTER = """Dear Mrs. Brown,

Thank you for your letter of 3 May, which I have read with great interest. I am
happy to tell you that we can meet the wishes of your firm, and that Peter
Smith will call you next week about it. Please do not hesitate to write to us
again if there is anything else that we can do.

Kind regards,
Jane Smith
Head of Sales
"""


@pytest.mark.parametrize(
    "text, expected",
    [
        # headlines, lists, recipes, subtitles, chat: an end of a line ends a sentence
        ("Storm hits north\nRescue plan unveiled", "Storm hits north|Rescue plan unveiled"),
        ("- buy milk\n- Call Mom\n* pay the rent", "buy milk|Call Mom|pay the rent"),
        (
            "Mix flour, sugar and\ntwo eggs\nBake it\nServe",
            "Mix flour, sugar and two eggs|Bake it|Serve",
        ),
        ("2 cups flour\n1 egg\nSalt", "2 cups flour|1 egg|Salt"),
        ("Where are you\ngoing now?\nHome", "Where are you going now?|Home"),
        ("Team meeting at 8 p.m.\nTickets cost $5", "Team meeting at 8 p.m.|Tickets cost $5"),
        # a line that ends with a comma or a function word goes on, but not a greeting
        ("We met the\nMayor of Paris", "We met the Mayor of Paris"),
        ("Hi Tom,\nThanks for coming", "Hi Tom,|Thanks for coming"),
        (
            "Two roads diverged in a yellow wood,\nAnd I stood",
            "Two roads diverged in a yellow wood, And I stood",
        ),
        # a name that is cut, but no word behind one
        ("He lived in New\nYork", "He lived in New York"),
        ("the North\nPole with Santa\nClaus", "the North Pole with Santa Claus"),
        ("We met Uncle\nTom at Lake\nErie.\nBye", "We met Uncle Tom at Lake Erie.|Bye"),
        ("They went North\nThen they ate", "They went North|Then they ate"),
        ("New\nYork", "New|York"),
        ("I went out\nThen I bought milk\nIt was", "I went out|Then I bought milk|It was"),
        ("Title of the Article\nBy John Smith", "Title of the Article|By John Smith"),
        # numbers and letters of items are no part of sentences
        ("1. Remove it. 2. Unscrew it. 3. Lift it.", "Remove it.|Unscrew it.|Lift it."),
        ("1) Remove it\n2) Unscrew it", "Remove it|Unscrew it"),
        ("Shopping list\n1. Buy milk\n2. Call Mom\n", "Shopping list|Buy milk|Call Mom"),
        ("To do\n\n1. Buy milk\n10. Call Mom", "To do|Buy milk|Call Mom"),
        ("Steps:\n1. Go\n2. Run\n3. Stop", "Steps:|Go|Run|Stop"),
        ("Do this: (1) lift it. (2) Turn it. (3) Stop.", "Do this: (1) lift it.|Turn it.|Stop."),
        ("It has steps. 1. Lift it! 2. Turn it? 3. Stop.", "It has steps.|Lift it!|Turn it?|Stop."),
        # but not those of other numbers
        ("How many? 300. The men went.", "How many?|300.|The men went."),
        # an answer alone in front of a line, unlike a number that counts on
        ("300. The men went.", "300.|The men went."),
        ("How many came?\n250. The rest stayed.", "How many came?|250.|The rest stayed."),
        ("99. We pay.\n\n100. They pay.\n\n101. All pay.", "We pay.|They pay.|All pay."),
        ("150. Lift it.\n151. Turn it.\n\n152. Go.", "Lift it.|Turn it.|Go."),
        ("(300) Lift it.\n\n412) Go.", "Lift it.|Go."),
        ("What is 2 + 2? 4. That is right.", "What is 2 + 2?|4.|That is right."),
        ("How old are you? 12. And you?", "How old are you?|12.|And you?"),
        ("Which one? (2) He took it.", "Which one?|(2) He took it."),
        (
            "Q: How many?\nA: 300. The men went.\nQ: Why?\nA: So.",
            "Q> How many?|A> 300.|A> The men went.|Q> Why?|A> So.",
        ),
        ("How many? 1. The last. Which? 3. We won.", "How many?|1.|The last.|Which?|3.|We won."),
        (
            "(a) the Tenant shall pay;\n(b) the Landlord shall not",
            "the Tenant shall pay;|the Landlord shall not",
        ),
        ("2.1 The Tenant pays.\n2.2 Rent is due", "The Tenant pays.|Rent is due"),
        ("Robert A.\nSmith, of the U.S.\nNavy", "Robert A. Smith, of the U.S. Navy"),
        # a line that begins with no word; one that is closed before lower case
        ("Acme Inc.\n+44 20 7946\nwww.acme.org", "Acme Inc.|+44 20 7946|www.acme.org"),
        ("Off to NYC #travel\nso tired :-)\n@bob go", "Off to NYC #travel|so tired :-)|@bob go"),
        ("Good luck!\nsame here, it stops.\nyes\nNo", "Good luck!|same here, it stops.|yes|No"),
        ("No bird would sing;\nNo voice was\n- Really", "No bird would sing; No voice was|Really"),
        ("- In the U.S.\n- Really?", "In the U.S.|Really?"),
        (
            "Present\nMr. Lee, Dr.\nSmith. At 8 p.m.\nTea",
            "Present|Mr. Lee, Dr. Smith.|At 8 p.m.|Tea",
        ),
        # prose
        (
            "Good muffins cost $3.88\nin New York.  Please buy me\ntwo.",
            "Good muffins cost $3.88 in New York.|Please buy me two.",
        ),
        (
            LETTER,
            "Dear Mrs. Brown,|Thank you for your letter of 3 May, which I have read with great "
            "interest.|I am happy to tell you that we can meet the wishes of your firm, and that "
            "Peter Smith will call you next week about it.|Please do not hesitate to write to us "
            "again if there is anything else that we can do.|Kind regards,|Jane Smith|"
            "Head of Sales",
        ),
        # other line breaks: old Macs, a new line in Word, separators; a form feed is between pages
        ("Storm hits\rRescue starts\r\rBob: it\ris.", "Storm hits|Rescue starts|Bob: it is."),
        ("Storm hits\u2028Rescue starts\u2029Bob goes", "Storm hits|Rescue starts|Bob goes"),
        ("2 eggs\x0bSalt\r\nSugar\x0b- milk", "2 eggs|Salt|Sugar|milk"),
        ("He went to the\n\x0ctown.\r\nShe did", "He went to the town.|She did"),
        # mark-up has partners, or is at an edge
        ("This is <b>bold</b> and <i class='x'>so</i>.", "This is bold and so ."),
        ("One<br>Two<p>Three</p>four", "One|Two|Three|four"),
        ("I <3 you. And x < y > z.", "I <3 you.|And x < y > z."),
        ("He saw.<br /><br />I did. <br> Yes", "He saw.|I did.|Yes"),
        # marks of emphasis and of headings in Markdown, lines of a quotation
        ("# Title\nIt is **so**. *He left.* She came.", "Title|It is so .|He left.|She came."),
        ("## 2 Use\n- **Speed**: a _real_ one. _Go._ No.", "2 Use|Speed : a real one.|Go.|No."),
        ("***Stop!*** **A _b_ c** (*d*) *e,\nf*", "Stop!|A b c ( d ) e, f"),
        (
            "I go.\n> > He went to\n> > town.\n>\n> She too.\nYes",
            "I go.|He went to town.|She too.|Yes",
        ),
        ("2*3*4 **kw *args *.py 5* a_b_c __b__", "2*3*4 **kw *args *.py 5* a_b_c __b__"),
        (
            "It costs $5.*\n\n*It varies. **So it is.\n\n>50 go",
            "It costs $5.*|*It varies.|**So it is.|>50 go",
        ),
        ('<div class="a">\nGo to <a href="b.c">us</a>\n</div>', "Go to us"),
    ],
)
def test_sentences_of_lines(text: str, expected: str) -> None:
    assert split(text)[0] == expected.split("|")


def test_the_reading_of_lines_is_reported_and_chosen() -> None:
    headlines = "Storm hits north\nRescue plan unveiled\n"
    assert split(headlines)[1] == [
        "ends of lines end sentences where the next line begins one (--prose: they do not)"
    ]
    assert split(headlines, "prose") == ([headlines.replace("\n", " ").strip()], [])
    assert split(LETTER)[1] == [
        "lines are those of prose, broken anywhere (--sentences: one sentence a line)"
    ]
    assert split("It is. It was.\n\nYes.")[1] == []


TRANSCRIPT = (
    "ANNA: So how did you start?\n\n"
    "BEN (off): {F Uh, } I was [laughter] a student. I liked it.\nA lot.\n"
)


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            TRANSCRIPT,
            "ANNA> So how did you start?|BEN> Uh, I was a student.|BEN> I liked it.|BEN> A lot.",
        ),
        (
            "A.1: Hello.\nB.2: Hi, {D well, } <noise> yes.\nA.3: Fine.",
            "A> Hello.|B> Hi, well, yes.|A> Fine.",
        ),
        (
            "[12:03] Anna: hi\n[12:04] Bob: are you in?\n[12:05] Anna: yes",
            "Anna> hi|Bob> are you in?|Anna> yes",
        ),
        ("Q: Is it so?\nA: It is.\nQ: Why?", "Q> Is it so?|A> It is.|Q> Why?"),
        (
            "Speaker 1: Hello there.\nSpeaker 2: ((coughs)) Good day.",
            "Speaker 1> Hello there.|Speaker 2> Good day.",
        ),
        # titles, and stamps of exported chats
        (
            "Mr. Smith: I go.\nMs Lee: No.\nMr. Smith: Fine.\nThe Chair: Order.\nMs Lee: Oh",
            "Mr. Smith> I go.|Ms Lee> No.|Mr. Smith> Fine.|The Chair> Order.|Ms Lee> Oh",
        ),
        (
            "THE COURT: Sit.\nMR. LEE: I do.\nTHE COURT: So?\nTHE WITNESS: Yes.",
            "THE COURT> Sit.|MR. LEE> I do.|THE COURT> So?|THE WITNESS> Yes.",
        ),
        (
            "12/05/2021, 10:15 - Anna: hi\n12/05/2021, 10:16 - Bob: so\nand so\n"
            "12/05/2021, 10:17 - Anna: yes",
            "Anna> hi|Bob> so and so|Anna> yes",
        ),
        (
            "[12/05/21, 10:15:02\u202fPM] Anna Lee: hi\n\u200e[12/05/21, 10:16:02\u202fPM] Bob: hi"
            "\n[2021-05-12 1:17 a.m.] Anna Lee: yes",
            "Anna Lee> hi|Bob> hi|Anna Lee> yes",
        ),
        ("**Anna:** hi\n**Bob:** so\n**Anna:** yes", "Anna> hi|Bob> so|Anna> yes"),
        # only events that are known are left out; a heading is no speaker
        (
            "Will: We saw [the cat]. (Laughs)\nAnna: Press <enter>. [inaudible 00:12]\n"
            "Anna: (Long pause) Yes [10].\nNote: we {can} go.\nWill: No.\nAnna: Yes.",
            "Will> We saw [the cat].|Anna> Press <enter>.|Anna> Yes [10].|Anna> Note: we {can} go."
            "|Will> No.|Anna> Yes.",
        ),
    ],
)
def test_speakers_of_transcripts(text: str, expected: str) -> None:
    sentences, messages = split(text)
    assert sentences == expected.split("|")
    assert [message for message in messages if "mark-up" not in message] == [messages[-1]]
    assert "--no-speakers" in messages[-1]


def test_names_and_colons_that_are_no_speakers() -> None:
    form = "Name: John Smith\nAge: 40\nTown: Leeds"
    assert split(form)[0] == form.split("\n")
    assert split("Note: it is late.")[0] == ["Note: it is late."]
    assert not any("a transcript" in message for message in split(form)[1])
    assert split(TRANSCRIPT, speakers=False)[0][0] == "ANNA: So how did you start?"
    assert split("Tom: it is late.", speakers=True) == (["Tom> it is late."], [])


@pytest.mark.parametrize(
    "text",
    [
        "P.S.: I love you.\nN.B.: Keep it.\nP.S.: I mean it.",
        "Background: We saw [the cat].\nMethods: It was [10] good.\nResults: It ran.",
        "OBJECTIVE: We saw it.\nPARTICIPANTS: It was good.\nRESULTS: It ran.",
        "Atom: The smallest part.\nIon: An atom with charge.\nMolecule: Some atoms.",
        "Warning: It is hot.\nNote: Press <enter>.\nWarning: It is cold.",
        "Pros: It is good.\nCons: It is slow.\nPros: It is small.\nCons: It is loud.",
        "Monday: I ran.\nTuesday: I slept.\nMonday: I ran.\nTuesday: I ate.",
        "Sat: I ran.\nMon: I slept.\nSat: I ran.",
        "Chapter 1: It is late.\nChapter 2: It was [10] good.\nFigure 3: It ran.",
        "Question 1: Is it late?\nQuestion 2: Was it [10] good?",
        "Input: Two men.\nOutput: One man.\nInput: Two boys.\nOutput: One boy.",
        "Anna: It is late.\nAnna: It is cold.",
    ],
)
def test_headings_are_no_speakers(text: str) -> None:
    sentences, messages = split(text)
    assert " ".join(sentences) == text.replace("\n", " ")
    assert not any("a transcript" in message for message in messages)


@pytest.mark.parametrize(
    "text",
    [
        "If a<b and c>d then stop.",
        "If x<i && y>2 then.",
        "It is std::vector<b> z here.",
        "The <p> tag opens a paragraph.",
        "<p> opens a paragraph.",
        "Now: <br> breaks a line.",
        "Use <b> for bold text.",
        "Write <b> and </b> around it.",
        "Write (<br>) or <hr> for it.",
        "Press <enter> twice.",
        "The type is List<td> here.",
        # entities, unless the text is encoded as a whole; comments without an end
        "Use &lt; in place of <.",
        "If a && b, write &amp;.",
        "Anna & Ben spoke of &quot;.",
        "It is <!-- so.",
    ],
)
def test_comparisons_and_names_of_tags_are_words(text: str) -> None:
    assert split(text) == ([text], [])


def test_mark_up_is_reported_once_and_breaks_no_prose() -> None:
    text = "The shop is open<br>Come in and see it, all of you who have got time\n\n<i>Yes</i>"
    sentences, messages = split(text)
    assert sentences == ["The shop is open", *text[20:69].split("\n")[:1], "Yes"]
    assert messages == ["mark-up such as <br> is left out"]


def test_comments_are_left_out() -> None:
    text = "He left. <!-- a\nb --> She came.\n<!-- all\n-->\nBob went.<!--c--> It ran."
    sentences, messages = split(text)
    assert [each.strip() for each in sentences] == ["He left.", "She came.", "Bob went.", "It ran."]
    assert messages[0] == "mark-up such as <!-- a b --> is left out"


def test_many_comments_without_an_end_take_no_longer() -> None:
    def seconds(number: int) -> float:
        start = time.process_time()
        masked("<!-- &lt" * number, Layout())
        return time.process_time() - start

    short = min(seconds(2_000) for _ in range(3))
    assert min(seconds(8_000) for _ in range(3)) < 8 * short


def test_masks_keep_the_length() -> None:
    text = "<p>ANN: {F Uh, } <b>yes</b> [laughs]<br/>"
    assert masked(text, Layout()) == "\n\n ANN: {F Uh, }    yes     [laughs]\n    "
    assert masked(text, Layout(has_speakers=True)) == "\n\n         Uh,      yes             \n    "


def test_the_layout_is_found_in_long_lines() -> None:
    assert layout_of(LETTER, None) == Layout(77)
    assert layout_of(TRANSCRIPT, None).has_speakers
    assert not layout_of(TRANSCRIPT, False).has_speakers
    assert [*line_ends("Yes\nNo", Layout(joins=True))] == []


def test_marks_of_items() -> None:
    marks = ("12. A", "(ii) b", "\u2022 c", "1990. D", "a. b")
    assert [item_mark(text, text[0] == "1", True) for text in marks] == [4, 5, 2, 0, 0]
    assert item_mark("- a", False, False) == 0
    assert item_mark("12. A", False, True) == 0


@pytest.mark.parametrize(
    "piece",
    [
        "A: b\n",
        "\n",
        "<b ",
        "<b>",
        "<b> </b>",
        "<br>",
        "{F ",
        "[",
        "((",
        "A a ",
        "1:1:",
        "<s x",
        "- \n",
        "A\nB\n",
        "a: ",
        "a",
        "1/1/1 1:1 ",
        "[1/1/1\n",
        "*a ",
        "*a* ",
        "> ",
        "_a\n",
        "# ",
    ],
)
def test_time_grows_as_the_text_does(piece: str) -> None:
    def seconds(characters: int) -> float:
        text = "Anna: hi\nBen: ho\n" + piece * (characters // len(piece)) + "\nEnd"
        began = time.process_time()
        layout = layout_of(text, None)
        masked(text, Layout(has_speakers=True))
        list(line_ends(text, layout))
        return time.process_time() - began

    short = min(seconds(4_000) for _ in range(3))
    assert min(seconds(32_000) for _ in range(2)) < 30 * short + 0.05


def test_time_grows_as_the_number_of_turns_does() -> None:
    def seconds(turns: int) -> float:
        began = time.process_time()
        split("Anna: hi\nBen: ho\n" * turns)
        return time.process_time() - began

    short = min(seconds(200) for _ in range(3))
    assert min(seconds(1_600) for _ in range(2)) < 16 * short + 0.05
