/** Parses tool calls in the notations that models write: JSON objects, Python calls, XML. Only offered tools count. */
import type { Tool } from '../core/hub/chat.ts'
import { readOrUndefined, LiteralReader, NotLiteral, readLiteral } from '../lib/json/literal.ts'
import type { Literal } from '../lib/json/literal.ts'

/** A call of an offered tool, under its offered name. */
export interface ParsedCall {
  readonly name: string
  /** A JSON object as text. */
  readonly arguments: string
}

/** The tools that may be called, by name. */
export type OfferedTools = ReadonlyMap<string, Tool>

const noArguments = '{}'
/** Gemini and Gemma write their functions as members of this module. */
const modulePrefix = 'default_api.'

/** The offered tool that `written` names, with or without the module; undefined = none. */
export function offeredName(written: string, offered: OfferedTools): string | undefined {
  if (offered.has(written)) return written
  const bare = written.startsWith(modulePrefix) ? written.slice(modulePrefix.length) : ''
  return offered.has(bare) ? bare : undefined
}

/**
 * One or more JSON values, each a call or a list of calls; undefined = the text holds something else. `arguments`:
 * whether a call must have a field with its arguments, as where other JSON is usual.
 */
export function readJsonCalls(
  text: string,
  offered: OfferedTools,
  requiredArguments: 'required' | 'optional' = 'optional',
): ParsedCall[] | undefined {
  return readOrUndefined(() => {
    const reader = new LiteralReader(text)
    const calls: ParsedCall[] = []
    for (reader.skip(); !reader.ended; reader.skip()) {
      const value = reader.value()
      for (const item of value.items ?? [value]) calls.push(jsonCall(item, offered, requiredArguments === 'required'))
      reader.skip()
      if (!reader.takes(';')) reader.takes(',')
    }
    return calls.length > 0 ? calls : undefined
  })
}

/** The keys that a call may have. With another key (such as `description`) an object is a tool definition or data. */
export const callKeys: ReadonlySet<string> = new Set([
  'name',
  'arguments',
  'parameters',
  'args',
  'id',
  'type',
  'function',
])

function jsonCall(value: Literal, offered: OfferedTools, strict: boolean): ParsedCall {
  const { entries } = value
  if (!entries || [...entries.keys()].some(key => !callKeys.has(key))) throw new NotLiteral('no call')
  const inner = entries.get('function')
  if (inner?.entries) return jsonCall(inner, offered, strict)
  const name = offeredName((entries.get('name') ?? inner)?.text ?? '', offered)
  const given = entries.get('arguments') ?? entries.get('parameters') ?? entries.get('args')
  if (name === undefined || (strict && !given)) throw new NotLiteral('no call of an offered tool')
  return { name, arguments: argumentsText(given) }
}

/** Accepts an object, or a string that holds one, as in OpenAI's `arguments`. Throws NotLiteral otherwise. */
function argumentsText(given: Literal | undefined): string {
  if (!given || given.json === 'null' || given.text === '') return noArguments
  const value = given.text === undefined ? given : readLiteral(given.text)
  if (!value?.entries) throw new NotLiteral('arguments that are no object')
  return value.json
}

/**
 * Python as models write it into `tool_code`: `f(a=1)`, `print(f(a=1))`, `[f(a=1), g()]`, one statement a line.
 * Positional arguments get their names from the tool's schema. undefined = the text holds something else.
 */
export function readPythonCalls(text: string, offered: OfferedTools): ParsedCall[] | undefined {
  return readOrUndefined(() => {
    const reader = new LiteralReader(text)
    const calls: ParsedCall[] = []
    for (reader.skip(); !reader.ended; reader.skip()) {
      readStatement(reader, offered, calls)
      // Statements are separated by a line break or a semicolon; anything else is not Python.
      const rest = /[ \t]*(?:#[^\n]*)?(?:\n|\r|;|$)/y
      rest.lastIndex = reader.at
      if (!rest.test(text)) return undefined
      reader.match(/[ \t]*;/y)
    }
    return calls.length > 0 ? calls : undefined
  })
}

function readStatement(reader: LiteralReader, offered: OfferedTools, calls: ParsedCall[]): void {
  if (!offered.has('print') && reader.match(/print[ \t]*\(/y)) {
    reader.skip()
    readStatement(reader, offered, calls)
    reader.skip()
    return reader.expect(')')
  }
  if (!reader.takes('[')) return void calls.push(pythonCall(reader, offered))
  for (reader.skip(); !reader.takes(']'); reader.skip()) {
    calls.push(pythonCall(reader, offered))
    reader.skip()
    if (!reader.takes(',') && reader.text[reader.at] !== ']') throw new NotLiteral('expected , or ]')
  }
}

function pythonCall(reader: LiteralReader, offered: OfferedTools): ParsedCall {
  const name = offeredName(reader.match(/[A-Za-z_][\w.-]*/y) ?? '', offered)
  if (name === undefined) throw new NotLiteral('no offered tool')
  reader.match(/[ \t]+/y)
  reader.expect('(')
  const positions = Object.keys(propertiesOf(offered.get(name)!))
  const given = new Map<string, string>()
  for (reader.skip(); !reader.takes(')'); reader.skip()) {
    const keyword = /([A-Za-z_]\w*)\s*=(?!=)/y
    keyword.lastIndex = reader.at
    const found = keyword.exec(reader.text)
    if (found) reader.at += found[0].length
    const key = found?.[1] ?? positions[given.size]
    if (key === undefined || given.has(key)) throw new NotLiteral('an argument without a name, or one given twice')
    given.set(key, reader.value().json)
    reader.skip()
    if (!reader.takes(',') && reader.text[reader.at] !== ')') throw new NotLiteral('expected , or )')
  }
  return { name, arguments: objectText(given) }
}

/**
 * `<function=f><parameter=a>1</parameter></function>`, once or more, or with a JSON object in place of parameters, as
 * Llama writes it. A value is a string where the schema says so, else
 * the literal it parses as. undefined = the text holds something else.
 */
export function readXmlCalls(text: string, offered: OfferedTools): ParsedCall[] | undefined {
  const calls: ParsedCall[] = []
  let rest = text.trim()
  while (rest !== '') {
    const opening = /^<function=([^>\s]+)>/.exec(rest)
    const end = rest.indexOf('</function>')
    const name = opening && end >= 0 ? offeredName(opening[1]!, offered) : undefined
    if (name === undefined) return undefined
    const content = rest.slice(opening![0].length, end)
    const given = xmlParameters(content, propertiesOf(offered.get(name)!))
    const object = given ? undefined : readLiteral(content.trim())
    if (!given && !object?.entries) return undefined
    calls.push({ name, arguments: given ? objectText(given) : object!.json })
    rest = rest.slice(end + '</function>'.length).trim()
  }
  return calls.length > 0 ? calls : undefined
}

function xmlParameters(text: string, properties: Record<string, unknown>): Map<string, string> | undefined {
  const given = new Map<string, string>()
  let rest = text.trim()
  while (rest !== '') {
    const opening = /^<parameter=([^>\s]+)>/.exec(rest)
    const end = rest.indexOf('</parameter>')
    if (!opening || end < 0) return undefined
    const written = rest
      .slice(opening[0].length, end)
      .replace(/^\r?\n/, '')
      .replace(/\r?\n$/, '')
    given.set(opening[1]!, typedText(written, properties[opening[1]!]))
    rest = rest.slice(end + '</parameter>'.length).trim()
  }
  return given
}

function typedText(written: string, schema: unknown): string {
  const { type } = (typeof schema === 'object' && schema !== null ? schema : {}) as { type?: unknown }
  if (type === 'string') return JSON.stringify(written)
  return readLiteral(written)?.json ?? JSON.stringify(written)
}

function propertiesOf(tool: Tool): Record<string, unknown> {
  const properties = tool.parameters?.properties
  return typeof properties === 'object' && properties !== null ? (properties as Record<string, unknown>) : {}
}

function objectText(values: ReadonlyMap<string, string>): string {
  return `{${[...values].map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`
}
