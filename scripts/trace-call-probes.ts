/**
 * Loaded into the gateway by `trace-call.ts` before anything else: puts a probe at the start of every function under
 * the folder TRACE_SOURCES, and reports to the parent process which functions were entered between `start` and `stop`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { plugin } from 'bun'
import ts from 'typescript'

/** A function of the sources. */
export interface TracedFunction {
  /** Relative to the folder of the sources. */
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly name: string
}

const sources = process.env.TRACE_SOURCES!
const functions: TracedFunction[] = []
let entered: number[] | undefined
/** Holds in what a timer with a delay began: such work belongs to no call. */
const insideTimer = new AsyncLocalStorage<true>()

plugin({
  name: 'entry probes',
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      return { loader: 'ts', contents: path.startsWith(`${sources}/`) ? withProbes(path, text) : text }
    })
  },
})

Object.defineProperty(globalThis, 'enterTracedFunction', {
  value: (index: number) => {
    if (entered && !insideTimer.getStore()) entered.push(index)
  },
})

const { setTimeout: plainTimeout, setInterval: plainInterval } = globalThis
type Callback = (...values: unknown[]) => unknown
const apart =
  (callback: Callback): Callback =>
  (...values) =>
    insideTimer.run(true, () => callback(...values))
const delayed = (callback: Callback, ms?: number, ...values: unknown[]) =>
  plainTimeout(ms ? apart(callback) : callback, ms, ...values)
const repeated = (callback: Callback, ms?: number, ...values: unknown[]) =>
  plainInterval(apart(callback), ms, ...values)
globalThis.setTimeout = delayed as unknown as typeof setTimeout
globalThis.setInterval = repeated as unknown as typeof setInterval

process.on('message', message => {
  if (message === 'start') entered = []
  if (message === 'stop') process.send!((entered ?? []).map(index => functions[index]))
  else process.send!('started')
})

/** The text with a call of the probe as the first statement of every function; no line moves. */
function withProbes(path: string, text: string): string {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const inserts: [at: number, text: string][] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const body = node.body as ts.Node
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart())
      const index = functions.push({ file: relative(sources, path), line: line + 1, name: nameOf(node) }) - 1
      const probe = `enterTracedFunction(${index})`
      if (ts.isBlock(body)) inserts.push([body.getStart() + 1, `${probe};`])
      else inserts.push([body.getStart(), `(${probe}, `], [body.end, ')'])
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  let result = ''
  let from = 0
  for (const [at, insert] of inserts.sort(([one], [other]) => one - other)) {
    result += text.slice(from, at) + insert
    from = at
  }
  return result + text.slice(from)
}

/** The name that a reader would look for: of the function, or of the property or variable that holds it. */
function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return `new ${node.parent.name?.text ?? 'class'}`
  const own = node.name ?? (isNamed(node.parent) ? node.parent.name : undefined)
  return own?.getText() ?? 'function'
}

function isNamed(node: ts.Node): node is ts.VariableDeclaration | ts.PropertyAssignment | ts.PropertyDeclaration {
  return ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node)
}
