/** Small changes to a source text that a test of its room should notice. */
import ts from 'typescript'

/** One change of a file: the characters from `start` to `end` become `text`. */
export interface Mutation {
  readonly start: number
  readonly end: number
  readonly text: string
  /** From 1 on. */
  readonly line: number
  /** The source line, without its indentation: with `change` it names a mutation when lines have moved. */
  readonly code: string
  /** What is written for what. */
  readonly change: string
}

const swapped: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
  [ts.SyntaxKind.QuestionQuestionToken]: '&&',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.SlashToken]: '*',
  [ts.SyntaxKind.PlusEqualsToken]: '-=',
  [ts.SyntaxKind.MinusEqualsToken]: '+=',
}

/** All mutations of a file, in the order of the text. Types are left alone: they are gone when the program runs. */
export function mutationsOf(name: string, source: string): Mutation[] {
  const file = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true)
  const found: Mutation[] = []
  const add = (node: ts.Node, text: string, change: string) => {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart())
    const code = source.split('\n')[line]!.trim()
    found.push({ start: node.getStart(), end: node.getEnd(), text, line: line + 1, code, change })
  }
  const replace = (node: ts.Node, text: string) => add(node, text, `${node.getText()} -> ${text}`)
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isImportDeclaration(node)) return
    if (ts.isBinaryExpression(node)) {
      const text = swapped[node.operatorToken.kind]
      if (text) replace(node.operatorToken, text)
    }
    if (node.kind === ts.SyntaxKind.TrueKeyword) replace(node, 'false')
    if (node.kind === ts.SyntaxKind.FalseKeyword) replace(node, 'true')
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
      add(node, node.operand.getText(), `${node.getText()} without !`)
    if (ts.isIfStatement(node)) {
      add(node.expression, 'true', `if (${node.expression.getText()}) always`)
      add(node.expression, 'false', `if (${node.expression.getText()}) never`)
    }
    if (ts.isConditionalExpression(node))
      add(node.condition, `!(${node.condition.getText()})`, `${node.condition.getText()} ? turned`)
    if (ts.isReturnStatement(node) && node.expression && node.expression.getText() !== 'undefined')
      add(node.expression, 'undefined', `return ${node.expression.getText()} emptied`)
    if (ts.isNumericLiteral(node)) replace(node, `(${node.text} + 1)`)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

/** The source with one mutation made. */
export const mutated = (source: string, { start, end, text }: Mutation): string =>
  source.slice(0, start) + text + source.slice(end)
