/**
 * Tools of the Responses dialect as the plain functions that every vendor knows, and back. A custom tool
 * becomes a function with one text argument, the tools of a namespace get the namespace into their name.
 */
import { createHash } from 'node:crypto'
import type { ChatRequest, Tool, ToolChoice } from '../../../core/hub/chat.ts'
import { shown } from '../../common/field-checks.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import { untranslatable } from '../../common/untranslatable.ts'
import { hasGrammar, lostGrammar, textTool } from '../text-tool.ts'

/** The tool of the client that a function stands for. */
export interface ClientTool {
  readonly kind: 'function' | 'custom'
  readonly name: string
  readonly namespace?: string
}

/** Vendors take letters, digits, `_` and `-`, at most 64 of them. */
const nameLengthMax = 64
const hashLength = 8

/** The functions of one request: name at the upstream -> the client's tool. */
export class ToolNames {
  readonly #tools = new Map<string, ClientTool>()
  readonly #names = new Map<string, string>()

  /** The function's name; the same tool always gets the same. */
  add(tool: ClientTool): string {
    const key = keyOf(tool)
    const known = this.#names.get(key)
    if (known !== undefined) return known
    let name = flatName(tool)
    if (this.#tools.has(name)) name = shortened(name, key)
    this.#names.set(key, name)
    this.#tools.set(name, tool)
    return name
  }

  /** The client's tool behind a call; an undeclared one is a function of that name. */
  find(name: string): ClientTool {
    return this.#tools.get(name) ?? { kind: 'function', name }
  }

  /** The function that a call of the conversation went to, also when its tool is no longer declared. */
  nameOf(tool: ClientTool): string {
    return this.#names.get(keyOf(tool)) ?? flatName(tool)
  }
}

function keyOf({ name, namespace }: ClientTool): string {
  return namespace === undefined ? name : `${namespace}\u0000${name}`
}

function flatName(tool: ClientTool): string {
  const { name, namespace } = tool
  if (namespace === undefined) return name
  const flat = `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}`.replace(/[^A-Za-z0-9_-]/g, '_')
  return flat.length > nameLengthMax ? shortened(flat, keyOf(tool)) : flat
}

function shortened(name: string, key: string): string {
  const hash = createHash('sha256').update(key).digest('hex').slice(0, hashLength)
  return `${name.slice(0, nameLengthMax - hashLength - 1)}_${hash}`
}

interface ReadTools {
  readonly tools: Tool[]
  readonly names: ToolNames
  /** Types of tools that only their vendor can run. */
  readonly hosted: Set<string>
  readonly dropped: string[]
}

/** `fields` = the entries of `tools`, in order. Nothing hosted survives: those run at the vendor, not at the client. */
export function readTools(fields: readonly Json[]): ReadTools {
  const result: ReadTools = { tools: [], names: new ToolNames(), hosted: new Set(), dropped: [] }
  for (const tool of fields) {
    if (tool.type === 'namespace') {
      const namespace = tool.name as string
      for (const inner of tool.tools as Json[]) addTool(result, inner, namespace, tool.description)
    } else addTool(result, tool)
  }
  return result
}

function addTool(result: ReadTools, tool: Json, namespace?: string, about?: unknown): void {
  if (tool.type !== 'function' && tool.type !== 'custom') {
    result.hosted.add(tool.type as string)
    result.dropped.push(`tools.${String(tool.type)}`)
    return
  }
  const name = result.names.add({
    kind: tool.type,
    name: tool.name as string,
    ...(namespace !== undefined && { namespace }),
  })
  const description = [about, tool.description].filter(text => typeof text === 'string' && text !== '').join('\n\n')
  if (tool.type === 'function') result.tools.push(functionTool(tool, name, description))
  else {
    const own = textTool(tool, name, description)
    if (hasGrammar([own])) result.dropped.push(lostGrammar)
    result.tools.push(own)
  }
}

function functionTool(definition: Json, name: string, description: string): Tool {
  const tool: Tool = { name }
  if (description !== '') tool.description = description
  if (isObject(definition.parameters)) tool.parameters = definition.parameters
  if (typeof definition.strict === 'boolean') tool.strict = definition.strict
  return tool
}

/** Sets tools and choice. Throws `unprocessable` when the call is forced onto a tool that only its vendor can run. */
export function applyTools(request: ChatRequest, { tools, names, hosted }: ReadTools, fields: Json): void {
  const choice = toolChoice(fields.tool_choice, names, hosted)
  const usable = choice?.only ? tools.filter(tool => choice.only!.has(tool.name)) : tools
  if (usable.length === 0) {
    if (choice && choice.choice !== 'auto' && choice.choice !== 'none')
      throw untranslatable(
        ['tool_choice'],
        'a call of a tool is demanded, but none of the tools can be given to this model',
      )
    return
  }
  request.tools = usable
  if (choice) request.toolChoice = choice.choice
  if (typeof fields.parallel_tool_calls === 'boolean') request.parallelToolCalls = fields.parallel_tool_calls
}

interface Choice {
  readonly choice: ToolChoice
  /** Only these may be called; names at the upstream. */
  readonly only?: ReadonlySet<string>
}

function toolChoice(value: unknown, names: ToolNames, hosted: ReadonlySet<string>): Choice | undefined {
  if (value === 'auto' || value === 'none' || value === 'required') return { choice: value }
  if (!isObject(value)) return undefined
  if (value.type === 'allowed_tools') {
    const allowed = (value.tools as Json[]).filter(isClients).map(tool => chosen(tool, names))
    return { choice: value.mode === 'required' ? 'required' : 'auto', only: new Set(allowed) }
  }
  if (!isClients(value)) {
    const known = hosted.has(value.type as string) ? '' : ', and it is not among `tools`'
    throw untranslatable(['tool_choice'], `the tool ${shown(value.type)} runs only at its own vendor${known}`)
  }
  return { choice: { name: chosen(value, names) } }
}

function isClients(tool: Json): boolean {
  return (tool.type === 'function' || tool.type === 'custom') && typeof tool.name === 'string'
}

function chosen(tool: Json, names: ToolNames): string {
  const namespace = typeof tool.namespace === 'string' ? { namespace: tool.namespace } : {}
  return names.nameOf({ kind: tool.type as ClientTool['kind'], name: tool.name as string, ...namespace })
}
