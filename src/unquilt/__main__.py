"""python -m unquilt"""

from unquilt.cli import main

main()
