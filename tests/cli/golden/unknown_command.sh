"$COMP" benhc
