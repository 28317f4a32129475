/** What hosts with a smaller form of OpenAI's Responses refuse, compiled from the tables of `rules/`. */
import { neutralOf } from '../../../core/hub/chat-fields.ts'
import { refusedField } from '../../../core/dialects/field-rules.ts'
import type { FieldRule, FieldRules } from '../../../core/dialects/field-rules.ts'
import { fittedEffort } from '../../../../rules/efforts.ts'
import type { ResponsesRule } from '../../../../rules/chat.ts'
import { isObject, objectOf, objectsOf } from '../../../lib/json/json-values.ts'

/** `own` = the rules of the host for all of its dialects. */
export function narrowRules(rule: ResponsesRule, own: FieldRules): FieldRules {
  const fields = new Map([
    ...own.fields,
    ...rule.unsupported.map(name => [name, refusedField(neutralOf(name))] as const),
    ['reasoning', effortAlone(rule.efforts)] as const,
  ])
  if (rule.chatFormat) fields.set('text', chatFormat)
  if (rule.toolChoice === false) {
    fields.set('tool_choice', noChoice)
    fields.set('tools', chosenTools)
  }
  return { ...own, fields, ...(rule.plainInput && { plainInput: true, inside: insideOfInput }) }
}

/** How finely a picture is read. */
const insideOfInput: FieldRules['inside'] = new Map([
  ['input', { paths: new Map([['content.detail', undefined]]), needles: [Buffer.from('"detail"')] }],
])

function effortAlone(taken: readonly string[]): FieldRule {
  return value => {
    const { effort: requestedEffort, ...rest } = objectOf(value)
    const others = Object.keys(rest).filter(name => rest[name] !== null)
    const { effort, lost } =
      typeof requestedEffort === 'string'
        ? fittedEffort(requestedEffort, taken)
        : { effort: undefined, lost: requestedEffort != null }
    if (effort === undefined) return lost || others.length > 0 ? 'drop' : 'omit'
    if (effort === requestedEffort && Object.keys(rest).length === 0) return 'keep'
    return { value: { effort }, ...((lost || others.length > 0) && { lost: lost ? 'reasoning.effort' : 'reasoning' }) }
  }
}

/** `text.format` with a schema as the `response_format` of chats. A JSON object of any form cannot be requested. */
const chatFormat: FieldRule = value => {
  const { format, verbosity } = objectOf(value)
  const { type, name, schema, strict, description } = objectOf(format)
  const lost = verbosity == null ? undefined : 'text.verbosity'
  if (type !== 'json_schema') return lost === undefined && (type === undefined || type === 'text') ? 'omit' : 'drop'
  const given = Object.entries({ name, schema, strict, description }).filter(([, one]) => one != null)
  return {
    name: 'response_format',
    value: { type: 'json_schema', json_schema: Object.fromEntries(given) },
    ...(lost !== undefined && { lost }),
  }
}

/** "auto" is so anyway, and "none" is said by offering no tools. */
const noChoice: FieldRule = value => (value === null || value === 'auto' || value === 'none' ? 'omit' : 'drop')

/** Where a tool cannot be forced, the named one is the only one that is offered. */
const chosenTools: FieldRule = (value, read) => {
  const choice = read('tool_choice')
  if (choice === 'none') return 'omit'
  if (!isObject(choice) || typeof choice.name !== 'string') return 'keep'
  const named = objectsOf(value).filter(tool => tool.name === choice.name)
  return named.length > 0 ? { value: named } : 'keep'
}
