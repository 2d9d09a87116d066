code=0
"$COMP" info nothing.h5ad || code=$?
exit "$code"
