/**
 * `tool_choice` of the type `allowed_tools` at hosts that do not have it: of the tools only the allowed ones are
 * offered, and the choice is the mode. Its form in chats has a level more than in Responses.
 */
import type { FieldRule } from '../../core/dialects/field-rules.ts'
import { isObject, objectOf, objectsOf } from '../../lib/json/json-values.ts'
import type { Json } from '../../lib/json/json-values.ts'

interface Allowed {
  readonly mode: unknown
  readonly tools: readonly Json[]
}

function allowedOf(choice: unknown): Allowed | undefined {
  if (!isObject(choice) || choice.type !== 'allowed_tools') return undefined
  const { mode, tools } = isObject(choice.allowed_tools) ? choice.allowed_tools : choice
  return { mode, tools: objectsOf(tools) }
}

/** `function: {name}`, `custom: {name}` and `name`; a vendor's own tool has a type alone. */
const nameOf = (tool: Json): unknown => objectOf(tool.function ?? tool.custom).name ?? tool.name ?? tool.type

function offered(tools: unknown, { tools: allowed }: Allowed): Json[] {
  const names = new Set(allowed.map(nameOf))
  return objectsOf(tools).filter(tool => names.has(nameOf(tool)))
}

/** The rule of `tools`. */
export const allowedTools: FieldRule = (value, read) => {
  const allowed = allowedOf(read('tool_choice'))
  if (!allowed) return 'keep'
  const tools = offered(value, allowed)
  return tools.length > 0 ? { value: tools } : 'omit'
}

/** The rule of `tool_choice`. */
export const allowedMode: FieldRule = (value, read) => {
  const allowed = allowedOf(value)
  if (!allowed) return 'keep'
  const isDemanded = allowed.mode === 'required'
  // A demand for a tool that there is not is the upstream's to refuse.
  if (offered(read('tools'), allowed).length === 0) return isDemanded ? { value: 'required' } : 'omit'
  return { value: isDemanded ? 'required' : 'auto' }
}
