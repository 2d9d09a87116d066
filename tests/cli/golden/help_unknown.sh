"$COMP" help benhc
