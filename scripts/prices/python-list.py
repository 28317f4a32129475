"""Prints the `providers` of genai_prices/data.py (first argument) as JSON. The module is parsed, never run.

A call such as `ModelInfo(id='x')` becomes an object with its class under `_`; a Decimal, a date and a time become texts.
"""

import ast
import json
import sys


def plain(node):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [plain(one) for one in node.elts]
    if isinstance(node, ast.Dict):
        return {plain(key): plain(value) for key, value in zip(node.keys, node.values)}
    if isinstance(node, ast.Call):
        return call(node)
    raise SystemExit(f'line {node.lineno}: {ast.dump(node)[:80]} is no literal; adapt scripts/prices/python-list.py')


def call(node):
    module = ast.unparse(node.func)
    name = module.removeprefix('datetime.')
    if name == 'Decimal':
        return plain(node.args[0])
    if name == 'date':
        return '%04d-%02d-%02d' % tuple(plain(one) for one in node.args)
    if name == 'time':
        zones = [ast.unparse(one.value) for one in node.keywords if one.arg == 'tzinfo']
        if zones != ['datetime.UTC']:
            raise SystemExit(f'line {node.lineno}: a time that is not UTC; adapt scripts/prices/python-list.py')
        return ':'.join('%02d' % plain(one) for one in node.args)
    if node.args or '.' in module:
        raise SystemExit(f'line {node.lineno}: {module} is no class of the list; adapt scripts/prices/python-list.py')
    return {'_': name, **{one.arg: plain(one.value) for one in node.keywords}}


with open(sys.argv[1], encoding='utf-8') as file:
    tree = ast.parse(file.read())
for statement in tree.body:
    if isinstance(statement, ast.AnnAssign) and statement.target.id == 'providers':
        json.dump(plain(statement.value), sys.stdout)
        break
else:
    raise SystemExit('data.py has no `providers`; adapt scripts/prices/python-list.py')
