"""embed.py IN.html OUT.c: a file as a C array, for the build."""
import sys

data = open(sys.argv[1], "rb").read()
with open(sys.argv[2], "w") as out:
    out.write('#include "report/page.h"\n\nconst unsigned char comp__page[] = {\n')
    for start in range(0, len(data), 32):
        out.write(",".join(map(str, data[start:start + 32])) + ",\n")
    out.write("};\nconst size_t comp__page_size = sizeof comp__page;\n")
