# What comp score says about mistakes.
printf ',batch,type,same,id,d1,d2\na,u,x,k,n1,1.5,2\nb,v,x,k,n2,2,1\nc,u,y,k,n3,0.5,2\nd,v,y,k,n4,1,4\n' >cells.csv
for arguments in '-c batch' '-u X_comp -c batch' '-u X -c bach' '-u X -c same' '-u X -c batch -k 4' '-u X -c batch -m kbt' \
  '-u X -c batch -m m_kbet' '-u X -c batch -k 2 --train-on u' '-u X -c batch -k 2 -l type --train-on uu --test-on v' '-u X -c batch -k 2 --fairness' '-u X -c batch --from u' '-u X -c batch --counterfactual cf --from u' '-u X -c batch -m pcr --before X_pca' \
  '-u X -c batch -k 2 -l id' '-u X -c batch -k 2 -l batch' '-c batch --counterfactual a --from u --to v --counterfactual b --from u' '-c batch --counterfactual a --from u --to u' \
  '-c batch --counterfactual cf --from u --to v' '-u X -c id -k 2' '-u X -c batch -l type -k 2 --min-label 4' \
  '-u X -c batch -k 2 --test-share 0.2' '-u X -c batch -k 2 --truth t'; do
  # shellcheck disable=SC2086  # a list of words
  "$COMP" score -q -i cells.csv $arguments
  echo "exit $?"
done
