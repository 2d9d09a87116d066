"$COMP" photograph
