/** What a host and its model refuse of OpenAI's chat completions, compiled from the tables of `rules/`. */
import { neutralOf } from '../../core/hub/chat-fields.ts'
import { fieldRules, noFieldRules, refusedField } from '../../core/dialects/field-rules.ts'
import type { FieldReader, FieldRule, FieldRules, FieldVerdict, MemberRules } from '../../core/dialects/field-rules.ts'
import type { ChatRule, FieldRule as FieldRow } from '../../../rules/chat.ts'
import { fittedEffort } from '../../../rules/efforts.ts'
import { objectOf } from '../../lib/json/json-values.ts'
import { allowedMode, allowedTools } from './allowed-tools.ts'
import { narrowRules } from './responses/narrow-rules.ts'
import type { HostQuirks } from './row.ts'

/** Other names of `reasoning_effort` and `tools`: the decoder of chats reads them, so the translation says them. */
const aliasFields = ['thinking', 'reasoning', 'functions', 'function_call']

/** The rules of a host for dialects other than chat, and where no table knows it. */
export function quirkRules({ drop, rename, streamOptions, noDeveloperRole }: HostQuirks = {}): FieldRules {
  if (!drop && !rename && streamOptions === undefined && !noDeveloperRole) return noFieldRules
  return {
    fields: fieldRules(drop, rename),
    ...(streamOptions === false && { streamOptions }),
    ...(noDeveloperRole && { noDeveloperRole }),
  }
}

/** The rules of a host for chats: those of its row of the catalogue, and those of the tables. */
export function chatFieldRules(rule: ChatRule | undefined, quirks?: HostQuirks): FieldRules {
  const own = quirkRules(quirks)
  if (!rule) return own
  const fields = new Map([...own.fields, ...fieldRules([], rule.rename), ...rowRules(rule)])
  if (rule.whileReasoning)
    for (const [name, judge] of rowRules(rule.whileReasoning)) fields.set(name, whileReasoning(judge, rule))
  if (rule.efforts) {
    fields.set('reasoning_effort', effortRule(rule.efforts, rule.effortOff))
    // The same word in OpenRouter's field, where the host is not known to refuse that.
    if (rule.efforts.length > 0 && !fields.has('reasoning')) fields.set('reasoning', reasoningRule(rule.efforts))
  }
  for (const [name, words] of Object.entries(rule.words ?? {})) fields.set(name, wordRule(words))
  for (const name of rule.lists ?? []) fields.set(name, inList)
  if (rule.logprobsAsCount === 'only') {
    fields.set('logprobs', countedLogprobs)
    fields.set('top_logprobs', () => 'omit')
  }
  const inside = insideRules(rule)
  const translated = aliasFields.filter(name => rule.unsupported?.includes(name))
  const streams = rule.unsupported?.includes('stream_options') ? false : own.streamOptions
  return {
    ...own,
    fields,
    ...(inside.size > 0 && { inside }),
    ...(translated.length > 0 && { translated }),
    ...(rule.logprobsAsCount && { countsLogprobs: true }),
    ...(rule.textContent && { textContent: true }),
    ...(streams === false && { streamOptions: false }),
  }
}

/** `own` for a host without `tool_choice` of the type `allowed_tools`. */
export function withoutAllowedTools(own: FieldRules): FieldRules {
  const { fields } = own
  const added = [
    ['tools', allowedTools],
    ['tool_choice', allowedMode],
  ] as const
  return { ...own, fields: new Map([...added, ...fields]) }
}

/** Fields of a Response that have the names and the meaning of those of a chat. */
const sharedNames: ReadonlySet<string> = new Set(['temperature', 'top_p'])

/** `own` for a model that has no reasoning to include: clients ask for it who do not know which model they call. */
export function withoutReasoning(own: FieldRules): FieldRules {
  return { ...own, fields: new Map([...own.fields, ['include', withoutEncrypted]]) }
}

const encrypted = 'reasoning.encrypted_content'

const withoutEncrypted: FieldRule = value => {
  if (!Array.isArray(value) || !value.includes(encrypted)) return 'keep'
  const others: unknown[] = value.filter(one => one !== encrypted)
  return others.length > 0 ? { value: others } : 'omit'
}

/** The same rules for Responses, as far as these have the fields. */
export function responsesFieldRules(rule: ChatRule | undefined, quirks?: HostQuirks): FieldRules {
  const own = quirkRules(quirks)
  if (!rule) return own
  if (rule.responses) return narrowRules(rule.responses, own)
  const shared = (row: FieldRow): [string, FieldRule][] => [...rowRules(row)].filter(([name]) => sharedNames.has(name))
  const fields = new Map([...own.fields, ...shared(rule)])
  if (rule.whileReasoning)
    for (const [name, judge] of shared(rule.whileReasoning))
      fields.set(
        name,
        whileReasoning(judge, rule, read => objectOf(read('reasoning')).effort),
      )
  if (rule.efforts) fields.set('reasoning', reasoningRule(rule.efforts))
  return { ...own, fields }
}

/** `reasoning` may hold more than the effort: a summary, a mode. */
function reasoningRule(taken: readonly string[]): FieldRule {
  return value => {
    const { effort: requestedEffort, ...rest } = objectOf(value)
    if (typeof requestedEffort !== 'string' || taken.includes(requestedEffort)) return 'keep'
    const { effort, lost } = fittedEffort(requestedEffort, taken)
    const changed = effort === undefined ? rest : { ...rest, effort }
    if (Object.keys(changed).length === 0) return lost ? 'drop' : 'omit'
    return { value: changed, lost: lost && 'reasoning.effort' }
  }
}

function rowRules({ unsupported = [], onlyAt = {} }: FieldRow): Map<string, FieldRule> {
  return new Map<string, FieldRule>([
    ...unsupported.map(name => [name, refusedField(neutralOf(name))] as const),
    ...Object.entries(onlyAt).map(([name, allowed]) => [name, onlyAtValue(allowed)] as const),
  ])
}

const onlyAtValue =
  (allowed: unknown): FieldRule =>
  value =>
    value === allowed ? 'keep' : value === null ? 'omit' : 'drop'

const wordRule =
  (values: Readonly<Record<string, string>>): FieldRule =>
  value =>
    typeof value === 'string' && Object.hasOwn(values, value) ? { value: values[value] } : 'keep'

const inList: FieldRule = value => (typeof value === 'string' ? { value: [value] } : 'keep')

/** The chosen token is one of those that are counted. */
const countedLogprobs: FieldRule = (value, read) => {
  if (value !== true) return typeof value === 'number' ? 'keep' : 'omit'
  const top = read('top_logprobs')
  return { value: typeof top === 'number' && top > 1 ? top : 1 }
}

const whileReasoning =
  (
    judge: FieldRule,
    { defaultEffort }: ChatRule,
    effortOf: (read: FieldReader) => unknown = read => read('reasoning_effort'),
  ): FieldRule =>
  (value, read) =>
    (effortOf(read) ?? defaultEffort) === 'none' ? 'keep' : judge(value, read)

function effortRule(taken: readonly string[], off: ChatRule['effortOff']): FieldRule {
  return value => {
    if (value === null) return 'omit'
    if (typeof value !== 'string') return 'keep'
    if (value === 'none' && off) return { name: off.field, value: off.value }
    const { effort, lost } = fittedEffort(value, taken)
    if (effort === undefined) return lost ? 'drop' : 'omit'
    return effort === value ? 'keep' : { value: effort, lost }
  }
}

function insideRules({ messageFields = [], messageRename = {}, toolFields = [] }: ChatRule): Map<string, MemberRules> {
  const inside = new Map<string, MemberRules>()
  const add = (field: string, paths: [string, string | undefined][]): void => {
    if (paths.length === 0) return
    const needles = [...new Set(paths.map(([path]) => path.slice(path.lastIndexOf('.') + 1)))]
    inside.set(field, { paths: new Map(paths), needles: needles.map(name => Buffer.from(`"${name}"`)) })
  }
  add('messages', [
    ...messageFields.map((path): [string, undefined] => [path, undefined]),
    ...Object.entries(messageRename),
  ])
  add(
    'tools',
    toolFields.map(path => [path, undefined]),
  )
  return inside
}

/** A body under construction, by the rules of the upstream. */
export class RuledFields {
  readonly body: Record<string, unknown> = {}
  readonly dropped: string[] = []
  readonly #rules: FieldRules
  readonly #read: FieldReader

  /** `read` gives the other fields of the request, by the client's names. */
  constructor(rules: FieldRules, read: FieldReader) {
    this.#rules = rules
    this.#read = read
  }

  /** Sets a field, unless its value is undefined or refused; `reported` = the name that a loss is reported by. */
  set(name: string, value: unknown, reported = name): void {
    if (value === undefined) return
    const verdict: FieldVerdict = this.#rules.fields.get(name)?.(value, this.#read) ?? 'keep'
    if (verdict === 'keep') this.body[name] = value
    else if (verdict === 'drop') this.dropped.push(reported)
    else if (verdict !== 'omit') {
      this.body[verdict.name ?? name] = verdict.value === undefined ? value : verdict.value
      if (verdict.lost) this.dropped.push(verdict.lost === true ? reported : verdict.lost)
    }
  }
}
