/** What changes in every body on the forward lane. */
import type { FieldRule, FieldRules, MemberRules } from '../../core/dialects/field-rules.ts'
import { editMembers } from '../../lib/json/json-members.ts'
import type { Edit, JsonBody } from '../../lib/json/json-body.ts'
import { gatewayFields } from './gateway-fields.ts'
import { exactText } from '../../lib/json/exact-json.ts'
import { schemaNames } from '../../core/dialects/exact-names.ts'

/** Edits, and the fields among them that are reported as dropped, by their path in the client's dialect. */
interface BodyEdits {
  readonly edits: Edit[]
  readonly dropped: string[]
}

/** The gateway's own fields (`own`) go, and what the upstream's rules say is done. */
export function commonEdits(body: JsonBody, rules: FieldRules, own = gatewayFields): BodyEdits {
  const result = ruleEdits(body, rules)
  for (const name of body.names()) if (own.has(name)) result.edits.push({ remove: name })
  return result
}

/** Refused fields go and are named in `dropped`, others get the upstream's names and words. */
export function ruleEdits(body: JsonBody, { fields, inside }: FieldRules): BodyEdits {
  const result: BodyEdits = { edits: [], dropped: [] }
  if (fields.size > 0)
    for (const name of body.names()) {
      const rule = fields.get(name)
      if (rule) applyRule(rule, name, body, result)
    }
  if (inside) for (const [name, members] of inside) if (body.has(name)) editInside(body, name, members, result)
  return result
}

/** Where the client also sent the new name of a renamed field, that one counts. */
function applyRule(rule: FieldRule, name: string, body: JsonBody, { edits, dropped }: BodyEdits): void {
  const verdict = rule(body.get(name), other => body.get(other))
  if (verdict === 'keep') return
  if (verdict === 'drop' || verdict === 'omit') {
    edits.push({ remove: name })
    if (verdict === 'drop') dropped.push(name)
    return
  }
  const { name: newName = name, value, lost } = verdict
  const json = value === undefined ? body.rawText(name)! : exactText(exactValue(rule, name, body) ?? value)
  if (newName === name) edits.push({ set: name, json })
  else {
    edits.push({ remove: name })
    if (!body.has(newName)) edits.push({ set: newName, json })
  }
  if (lost) dropped.push(lost === true ? name : lost)
}

/** The value that the rule makes of a field with schemas whose digits would get lost; undefined = they would not. */
function exactValue(rule: FieldRule, name: string, body: JsonBody): unknown {
  const exact = body.exact(name, schemaNames)
  if (exact === undefined) return undefined
  const verdict = rule(exact, other => body.get(other))
  return typeof verdict === 'object' ? verdict.value : undefined
}

function editInside(
  body: JsonBody,
  name: string,
  { paths, needles }: MemberRules,
  { edits, dropped }: BodyEdits,
): void {
  const bytes = Buffer.from(body.bytes.buffer, body.bytes.byteOffset, body.bytes.byteLength)
  if (!needles.some(needle => bytes.includes(needle))) return
  const found = editMembers(body.rawText(name)!, paths)
  if (!found) return
  edits.push({ set: name, json: found.json })
  for (const path of found.removed) dropped.push(`${name}.${path}`)
}
