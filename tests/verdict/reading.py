"""reading.py: what a run says, as the terminal and the page have it."""
import json
import os
import re


def on_terminal(text):
    """Findings as the terminal has them, and how many notes it says there are."""
    findings, notes = [], 0
    for line in text.split("\n"):
        start = re.match(r"(ok|caution|problem) +([a-z-]+) +(.*)", line)
        more = re.match(r" {20,}(\S.*)", line)
        counted = re.match(r"(\d+) notes?: see the report", line)
        if start:
            findings.append([start[2], start[1], start[3]])
        elif more and findings and not counted:
            findings[-1][2] += " " + more[1]
        elif counted:
            notes = int(counted[1])
    return [tuple(f[:2]) + (f[2].split(" -> ")[0].strip(),) for f in findings], notes


def page_data(out):
    page = open(os.path.join(out, "report.html"), encoding="utf-8").read()
    return json.loads(re.search(r'<script type="application/json" id="comp-data">(.*?)</script>', page, re.S)[1])


def on_page(out):
    return page_data(out)["findings"]


def plain(text):
    return re.sub(r"\s+", " ", text).strip()
