/** Counts which branches of a module run: the coverage that guides `fuzz.ts`. */
import { plugin } from 'bun'
import { readFileSync } from 'node:fs'
import ts from 'typescript'

const edgesMax = 1 << 16
const hookName = '__branch'

/** Passages from one branch to the next since the last `reset`, by a hash of both. */
export class Coverage {
  readonly #hits = new Uint8Array(edgesMax)
  /** Those with hits, so that nothing else has to be looked at. */
  readonly #touched = new Uint16Array(edgesMax)
  #touchedCount = 0
  #previous = 0
  /** By passage: a bit for each magnitude of hits that an input had. */
  readonly #seen = new Uint8Array(edgesMax)
  /** Passages that were ever seen. */
  edges = 0

  readonly hit = (branch: number): void => {
    const edge = (this.#previous ^ branch) & (edgesMax - 1)
    this.#previous = branch >> 1
    const hits = this.#hits[edge]!
    if (hits === 0) this.#touched[this.#touchedCount++] = edge
    if (hits < 255) this.#hits[edge] = hits + 1
  }

  /** Before each input. */
  reset(): void {
    for (let at = 0; at < this.#touchedCount; at++) this.#hits[this.#touched[at]!] = 0
    this.#touchedCount = 0
    this.#previous = 0
  }

  /** true = since the `reset` something happened that never did before, or more often than before. */
  takeNew(): boolean {
    let isNew = false
    for (let at = 0; at < this.#touchedCount; at++) {
      const edge = this.#touched[at]!
      const seen = this.#seen[edge]!
      // 1, 2, 3-4, 5-8, 9-16, ...
      const magnitude = 1 << Math.min(7, 32 - Math.clz32(this.#hits[edge]! - 1))
      if ((seen & magnitude) !== 0) continue
      if (seen === 0) this.edges++
      this.#seen[edge] = seen | magnitude
      isNew = true
    }
    return isNew
  }
}

/**
 * Modules whose path fits `filter` report to `coverage`, if they are imported from now on. One `coverage` a process.
 */
export function instrument(filter: RegExp, coverage: Coverage): void {
  Object.assign(globalThis, { [hookName]: coverage.hit })
  plugin({
    name: 'branch coverage',
    setup(build) {
      build.onLoad({ filter }, ({ path }) => ({ contents: instrumented(path), loader: 'js' }))
    },
  })
}

let branches = 0
/** Far apart, so that few passages share a hash. */
const nextBranch = (): number => Math.imul(++branches, 0x9e3779b1) >>> 16

function instrumented(path: string): string {
  const { factory: make } = ts
  const call = () =>
    make.createCallExpression(make.createIdentifier(hookName), undefined, [make.createNumericLiteral(nextBranch())])
  const block = (statement: ts.Statement) =>
    make.createBlock([
      make.createExpressionStatement(call()),
      ...(ts.isBlock(statement) ? statement.statements : [statement]),
    ])
  const value = (expression: ts.Expression) =>
    make.createParenthesizedExpression(make.createComma(call(), make.createParenthesizedExpression(expression)))
  const body = <Body extends ts.ConciseBody>(given: Body) => (ts.isBlock(given) ? block(given) : value(given))
  /** `node` with its branches marked; what is inside has been. */
  const marked = (node: ts.Node): ts.Node => {
    if (ts.isIfStatement(node))
      return make.updateIfStatement(
        node,
        node.expression,
        block(node.thenStatement),
        block(node.elseStatement ?? make.createEmptyStatement()),
      )
    if (ts.isWhileStatement(node)) return make.updateWhileStatement(node, node.expression, block(node.statement))
    if (ts.isForStatement(node))
      return make.updateForStatement(node, node.initializer, node.condition, node.incrementor, block(node.statement))
    if (ts.isForOfStatement(node))
      return make.updateForOfStatement(
        node,
        node.awaitModifier,
        node.initializer,
        node.expression,
        block(node.statement),
      )
    if (ts.isCaseOrDefaultClause(node)) {
      const statements = [make.createExpressionStatement(call()), ...node.statements]
      return ts.isCaseClause(node)
        ? make.updateCaseClause(node, node.expression, statements)
        : make.updateDefaultClause(node, statements)
    }
    if (ts.isConditionalExpression(node))
      return make.createConditionalExpression(
        node.condition,
        undefined,
        value(node.whenTrue),
        undefined,
        value(node.whenFalse),
      )
    if (ts.isBinaryExpression(node) && logical.has(node.operatorToken.kind))
      return make.updateBinaryExpression(node, node.left, node.operatorToken, value(node.right))
    if (ts.isArrowFunction(node)) {
      const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken: arrow } = node
      return make.updateArrowFunction(node, modifiers, typeParameters, parameters, type, arrow, body(node.body))
    }
    return node
  }
  const transformer: ts.TransformerFactory<ts.SourceFile> = context => source => {
    const visit = (node: ts.Node): ts.Node => marked(ts.visitEachChild(node, visit, context))
    return ts.visitEachChild(source, visit, context)
  }
  return ts.transpileModule(readFileSync(path, 'utf8'), {
    compilerOptions: {
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
    transformers: { before: [transformer] },
  }).outputText
}

const logical: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
])
