# What is simulated has the parts that the help promises. Numbers that another CPU may round differently are left out.
"$COMP" simulate -q -o cells.h5ad --cells 60 --genes 20 --conditions 3 --labels 2 --absent type2:treated1
"$COMP" info -q cells.h5ad | grep -v -e ' zeros' -e 'looks like' -e library_size -e '"' -e response
"$COMP" info -q cells.h5ad | sed -n 's/from 0 to .*: counts/counts/p'
ls -A
