"""cvc5 as the solver that Halmos calls, with a query's file as its argument. Words become integers: products of two unknowns need that."""
import sys

import cvc5

OPTIONS = {"solve-bv-as-int": "sum", "bv-print-consts-as-indexed-symbols": "true", "produce-models": "true"}

terms = cvc5.TermManager()
solver = cvc5.Solver(terms)
for name, value in OPTIONS.items():
    solver.setOption(name, value)
symbols = cvc5.SymbolManager(terms)
parser = cvc5.InputParser(solver, symbols)
parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, sys.argv[1])
while not (command := parser.nextCommand()).isNull():
    print(command.invoke(solver, symbols), end="")
