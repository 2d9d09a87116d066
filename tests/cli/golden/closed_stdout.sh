"$COMP" version >&-
