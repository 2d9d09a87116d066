"""pages.py: the pages of the site as texts: what a block of code is, which pages there are, and how a page of docs/ becomes one of the site."""
import pathlib
import posixpath
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TITLES = {"sh": "Shell", "python": "Python", "r": "R", "c": "C"}  # the languages whose blocks are run
OTHERS = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "ARCHITECTURE.md": "architecture.md", "SECURITY.md": "security.md",
          "README.md": "index.md"}  # documents outside docs/, and what the site has of them
NOT_RUN = re.compile(r"<!-- not run: (.+) -->$")


class Block:
    """A fenced block: its language, the lines between the fences, the number of its first line, and why it is not run."""

    def __init__(self, language, lines, first, reason):
        self.language, self.lines, self.first, self.reason = language, lines, first, reason

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def sources():
    """All pages that are written by hand, in docs/."""
    return sorted(p for p in DOCS.rglob("*.md") if "site" not in p.relative_to(DOCS).parts)


def blocks(text, page):
    """The blocks of a page. A fence that is not closed is an error."""
    found, lines, i, reason = [], text.split("\n"), 0, None
    while i < len(lines):
        marked = NOT_RUN.match(lines[i])
        if lines[i].startswith("```"):
            end = next((k for k in range(i + 1, len(lines)) if lines[k] == "```"), None)
            if end is None:
                raise SystemExit(f"{page}:{i + 1}: this block has no end")
            found.append(Block(lines[i][3:].strip(), lines[i + 1:end], i + 2, reason))
            i, reason = end, None
        elif marked:
            reason = marked.group(1)
        elif lines[i].strip():
            reason = None
        i += 1
    return found


def outside(text, change):
    """The text with `change` applied to all lines outside of blocks."""
    inside, out = False, []
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = not inside
        out.append(line if inside or line.startswith("```") else change(line))
    return "\n".join(out)


def tabbed(text):
    """Blocks of several languages that follow each other become tabs; the reason why a block is not run becomes a caption."""
    pattern = re.compile(r"(?:^```(sh|python|r|c)\n(?:(?!```).*\n)*```\n\n?)+", re.M)

    def tabs(match):
        parts = re.findall(r"^```(sh|python|r|c)\n((?:(?!```).*\n)*)```$", match.group(0), re.M)
        if len({language for language, _ in parts}) < 2:
            return match.group(0)
        out = ""
        for language, body in parts:
            out += f'=== "{TITLES[language]}"\n\n    ```{language}\n' + "".join(f"    {line}\n" if line else "\n" for line in body.split("\n")[:-1]) + "    ```\n\n"
        return out

    text = pattern.sub(tabs, text)
    return re.sub(r"^<!-- not run: (.+) -->$", r"Not run by the tests: \1.\n{ .notrun }\n", text, flags=re.M)


def site_name(repository_path):
    """The page of the site for a file of the repository; None when it has none."""
    if repository_path in OTHERS:
        return OTHERS[repository_path]
    if repository_path.startswith("docs/"):
        return repository_path[len("docs/"):]
    if repository_path.startswith("include/comp/") and repository_path.endswith(".h"):
        return "reference/c/" + posixpath.basename(repository_path)[:-2] + ".md"
    return None


def relinked(text, source, target, existing):
    """Links as the site has them. `source`: path in the repository; `target`: page of the site. A link to a file that the site does not show becomes its name."""
    def link(match):
        label, url = match.group(1), match.group(2)
        if re.match(r"[a-z]+:", url) or url.startswith("#"):
            return match.group(0)
        path, _, anchor = url.partition("#")
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        page = site_name(inside)
        if page is None or not existing(page):
            if not (ROOT / inside).exists():
                raise SystemExit(f"{source}: the link to {url} leads nowhere")
            return f"`{inside}`" if "](" not in label else label
        there = posixpath.relpath(page, posixpath.dirname(target) or ".")
        return f"[{label}]({there}{'#' + anchor if anchor else ''})"

    return outside(text, lambda line: re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, line))
