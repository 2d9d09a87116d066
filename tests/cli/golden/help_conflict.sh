"$COMP" help --man --list
