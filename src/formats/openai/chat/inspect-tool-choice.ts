/** A call that is demanded needs its tool (API reference, `tool_choice`); `auto` and `none` demand nothing. */
import type { JsonBody } from '../../../lib/json/json-body.ts'
import { readField, shown } from '../../common/field-checks.ts'
import { isObject } from '../../../lib/json/json-values.ts'
import type { Json } from '../../../lib/json/json-values.ts'
import type { Path, ProblemList } from '../../common/field-checks.ts'

const demands: ReadonlySet<unknown> = new Set(['required', 'any'])

/** Looks at the fields together; each by itself is checked before. */
export function checkChosenTool(body: JsonBody, problems: ProblemList): void {
  if (problems.problems.length > 0) return
  const tools = objectsOf(body, 'tools')
  const functions = objectsOf(body, 'functions')
  const known = new Set([...tools.map(nameOf), ...functions.map(nameOf)])
  const field = readField(body, 'tool_choice') == null ? 'function_call' : 'tool_choice'
  const list = field === 'tool_choice' ? 'tools' : 'functions'
  const choice = readField(body, field)
  if (tools.length + functions.length === 0 && demandsCall(choice))
    return problems.add(
      [field],
      `\`${field}\` demands a call, and there are no \`${list}\`; send them, or leave \`${field}\` out`,
      'invalid',
    )
  for (const { name, path } of namesIn(choice, field)) {
    if (known.has(name)) continue
    problems.add(
      path,
      `\`${field}\` names ${shown(name)}, which is not one of \`${list}\`; name one of them, or send that one too`,
      'unknown_value',
    )
  }
}

function demandsCall(choice: unknown): boolean {
  if (!isObject(choice)) return demands.has(choice)
  const allowed = choice.allowed_tools
  return choice.type === 'allowed_tools' ? isObject(allowed) && demands.has(allowed.mode) : !isWord(choice.type)
}

/** `{"type": "auto"}` and the like. */
const isWord = (type: unknown): boolean => type === 'auto' || type === 'none'

function namesIn(choice: unknown, field: string): { name: string; path: Path }[] {
  if (!isObject(choice)) return []
  if (choice.type === 'allowed_tools') {
    const allowed = isObject(choice.allowed_tools) ? choice.allowed_tools.tools : undefined
    return (Array.isArray(allowed) ? allowed : []).flatMap((tool: unknown, at) => {
      const name = isObject(tool) ? nameOf(tool) : undefined
      return name === undefined ? [] : [{ name, path: [field, 'allowed_tools', 'tools', at] }]
    })
  }
  const name = nameOf(choice)
  return name === undefined ? [] : [{ name, path: [field] }]
}

/** Of `{type, function: {name}}`, and of `{name}` as the old `functions` have it. */
function nameOf(tool: Json): string | undefined {
  const inner = tool.function ?? tool.custom
  const name = isObject(inner) ? inner.name : tool.name
  return typeof name === 'string' ? name : undefined
}

function objectsOf(body: JsonBody, field: string): Json[] {
  const list = body.has(field) ? readField(body, field) : undefined
  return Array.isArray(list) ? list.filter(isObject) : []
}
