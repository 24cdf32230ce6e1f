"""Cases 27 to 30 and 36 to 38: what recall finds and how it keeps its budget."""

from __future__ import annotations

import json
from urllib.parse import quote

from tests.cases.conftest import Ask, asker, kept_answer, paths
from tests.mounted import Mounted


def put(mount: Mounted, slug: str, text: str) -> str:
    (mount.root / "note" / f"{slug}.md").write_text(text)
    return f"note/{slug}.md"


def test_27_never_stale(mount: Mounted, recall: Ask) -> None:
    path = put(mount, "animal", "a zebra\n")
    assert paths(recall("zebra")) == [path]
    put(mount, "animal", "a giraffe\n")
    assert paths(recall("giraffe")) == [path]
    assert paths(recall("zebra")) == []


def test_28_chinese_by_any_two_characters(mount: Mounted, recall: Ask) -> None:
    contract = put(mount, "contract", "中文合約轉換體驗課問題\n")
    hello = put(mount, "world", "你好，世界！\n")
    english = put(mount, "english", "a contract about conversion\n")
    assert paths(recall("合約")) == [contract]
    assert paths(recall("世界")) == [hello]
    assert paths(recall("conversion")) == [english]


def test_29_versions_and_possessives(mount: Mounted, recall: Ask) -> None:
    version = put(mount, "release", "released v2026.4.10\n")
    bar = put(mount, "pub", "the bar's door\n")
    assert version in paths(recall("2026.4.10"))
    assert not {version, bar} & set(paths(recall("0")))
    assert paths(recall("bars")) == [bar]


def test_30_titles_are_found(mount: Mounted, recall: Ask) -> None:
    hello = put(mount, "greeting", "---\ntitle: Hello\n---\n")
    band = put(mount, "band", "---\ntitle: The Who\n---\n")
    assert hello in paths(recall("hello"))
    assert paths(recall("The Who"))[0] == band
    assert paths(recall("who"))[0] == band


def test_36_long_notes_and_long_questions(mount: Mounted, recall: Ask) -> None:
    path = put(mount, "long", "lorem ipsum dolor " * 11_500 + "xylophonist\n")
    assert paths(recall("xylophonist")) == [path]
    question = "xylophonist " + "filler words here " * 1_200
    assert len(question) > 20_000
    with open(mount.root / ".recall", "r+b", buffering=0) as control:
        control.write(json.dumps({"q": question, "format": "json", "budget": 32768}).encode())
        answer = json.loads(read_all(control))
    assert path in paths(answer)


def read_all(control: object) -> bytes:
    data = b""
    while piece := control.read(65536):  # type: ignore[attr-defined]
        data += piece
    return data


def test_37_the_budget_holds_in_any_script(mount: Mounted, recall: Ask) -> None:
    put(mount, "thick", ("walrus " + "padding words " * 20 + "\n\n") * 40)
    put(mount, "dick", "海象。" + "填充的文字很多很多很多。" * 900 + "\n")
    for question in ("walrus", "海象"):
        for form in ("md", "json"):
            budget = 200 if form == "md" else 512
            name = f".recall?q={quote(question)}&budget={budget}&format={form}"
            text = (mount.root / name).read_text()
            from engine.tokens import counter

            assert counter("o200k")(text) <= budget
            if form == "json":
                answer = json.loads(text)
                assert answer["tokens"] == counter("o200k")(text)
                assert answer["items"] or answer["truncated"]


def test_38_deleted_is_gone_and_front_matter_values_are_found(mount: Mounted, recall: Ask) -> None:
    path = put(mount, "gone", "an ephemeral thing\n")
    assert paths(recall("ephemeral")) == [path]
    (mount.root / path).unlink()
    assert paths(recall("ephemeral")) == []
    value = put(mount, "value", "---\ntopic: chrysanthemum\n---\nnothing\n")
    assert paths(recall("chrysanthemum")) == [value]


def test_20_every_tool_reads_the_same_bytes(mount: Mounted) -> None:
    put(mount, "tools", "quokka one\nquokka two\nquokka three\n")
    name = kept_answer(mount, "quokka")
    done = mount.sh(
        f'f=\'{name}\'; cat "$f" | sha256sum; cp "$f" "$T" && sha256sum < "$T";'
        "python3 -c 'import sys; "
        'sys.stdout.buffer.write(open(sys.argv[1], "rb").read())\' "$f" | sha256sum;'
        'grep "" "$f" | sha256sum; head -c 100000 "$f" | sha256sum;'
        'dd if="$f" status=none | sha256sum;',
        T=str(mount.root.parent / "copy"),
    )
    assert done.returncode == 0, done.stderr
    assert len(set(done.stdout.split()) - {"-"}) == 1, done.stdout
    sizes = mount.sh(
        f"wc -c < '{name}'; stat -c %s '{name}'; tail -1 '{name}' | wc -l"
    ).stdout.split()
    assert sizes[0] == sizes[1]


def test_a_bad_request_is_einval_and_says_why(mount: Mounted) -> None:
    done = mount.sh("cat '.recall?q=x&budget=3'; cat .errors")
    assert "Invalid argument" in done.stderr
    assert "budget" in done.stdout and "64" in done.stdout
    asker(mount, ".recall")("x")
