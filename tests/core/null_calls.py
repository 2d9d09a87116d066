"""null_calls.py INCLUDE OUT DEPENDENCIES: calls of public functions with NULL, for test_null.c.

For each function that returns a comp_status and each of its pointers that must not be NULL, one row: that pointer is NULL, all others are
not. For each ..._free() and ..._release(), a call with NULL. A new function is covered by its declaration alone; an argument that may be
NULL is listed here, and its header says so.
"""
import pathlib
import re
import sys

# By function: arguments that may be NULL. Options may be everywhere, but for the functions of options.h.
MAY = {
    "comp_baseline_run": "model",
    "comp_context_join_ranks": "work",
    "comp_data_look_by": "each groups",
    "comp_dataset_check_write": "format",
    "comp_dataset_new": "obs_names var_names",
    "comp_dataset_new_without_x": "obs_names var_names",
    "comp_dataset_select": "rows cols",
    "comp_dataset_set_record": "json",
    "comp_decode": "condition",
    "comp_design_json": "condition label",
    "comp_diagnose": "against",
    "comp_embed": "scales",
    "comp_embed_file": "key",
    "comp_counterfactual_file": "key",
    "comp_map_file": "report model_path",
    "comp_matrix_select": "rows cols",
    "comp_matrix_wrap_csr": "release user",
    "comp_matrix_wrap_dense": "release user",
    "comp_normalize_total": "used",
    "comp_options_set": "text",
    "comp_prep_apply_record": "record",
    "comp_report_write": "model",
    "comp_to_counts": "condition",
    "comp_umap_run": "info",
    "comp_umap_transform": "info",
}

# They take a matrix over, and free it when they fail: a real one is needed. test_dataset.c has them.
TAKES_OVER = {"comp_dataset_new", "comp_dataset_set_matrix", "comp_dataset_set_x"}


def declarations(paths):
    for path in paths:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        for result, name, arguments in re.findall(r"COMP_API\s+([\w\s*]+?)\s*\b(\w+)\(([^;]*?)\);", text, flags=re.S):
            yield " ".join(result.split()), name, [a.strip() for a in " ".join(arguments.split()).split(",")]


def split(argument):
    """The type and the name of an argument; functions count as pointers."""
    kind, name = re.fullmatch(r"(.*?)(\w+)(?:\[\w+\])?", argument).groups()
    return kind.strip(), name, "*" in kind or kind.strip().endswith("_fn")


def is_required(function, kind, name):
    if name in MAY.get(function, "").split():
        return False
    return function.startswith("comp_options_") or "comp_options *" not in kind


def call(function, arguments, is_null):
    values = []
    for kind, name, pointer in arguments:
        values.append(("NULL" if is_null(name) or kind.endswith("_fn") else "some()") if pointer else "1")
    return f"{function}({', '.join(values)})"


def main(include, out, dependencies):
    paths = sorted(pathlib.Path(include, "comp").glob("*.h"))
    rows, freed, known = [], [], set()
    for result, function, arguments in declarations(paths):
        known.add(function)
        if result == "void" and re.search("_(free|release)$", function):
            freed.append(f"{function}(NULL);")
        if result != "comp_status" or arguments == ["void"]:
            continue
        split_arguments = [split(a) for a in arguments]
        required = [name for kind, name, pointer in split_arguments if pointer and is_required(function, kind, name)]
        if required:
            rows.append(f'REFUSED({call(function, split_arguments, lambda name: True)}, "{function}(): {required[0]} is NULL");')
        for null in [] if function in TAKES_OVER else required:
            text = call(function, split_arguments, lambda name, null=null: name == null)
            rows.append(f'REFUSED({text}, "{function}(): {null} is NULL");')
    unknown = (set(MAY) | TAKES_OVER) - known
    if unknown or len(rows) < 300 or len(freed) < 15:
        sys.exit(f"null_calls.py: {len(rows)} calls, {len(freed)} frees; no declaration of: {', '.join(sorted(unknown)) or 'none'}")
    with open(out, "w", encoding="utf-8") as file:
        file.write("/* Made by null_calls.py. */\n#define NULL_CALLS \\\n" + " \\\n".join(rows) + "\n\n")
        file.write("#define NULL_FREES \\\n" + " \\\n".join(freed) + "\n")
    with open(dependencies, "w", encoding="utf-8") as file:
        file.write(f"{out}: {' '.join(map(str, paths))}\n")


main(*sys.argv[1:])
