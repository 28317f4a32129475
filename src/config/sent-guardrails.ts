/** Guardrails that are made by API: checked, and merged with those of the file. */
import { secretMask } from '../core/objects/configured-objects.ts'
import type { CheckedModel, ConfiguredObject, GuardrailEntry } from '../core/objects/configured-objects.ts'
import { unprocessable } from '../core/errors.ts'
import type { GuardrailSettings } from '../core/guardrails.ts'
import { schemaOf } from '../core/setting-keys.ts'
import { problemsIn } from '../core/schema-problems.ts'
import { guardrailProblem } from '../guardrails/compile.ts'
import { guardrailKeys, guardrailName, guardrailSecrets } from '../guardrails/params.ts'
import type { GuardrailParams } from '../guardrails/params.ts'
import { Secret } from '../lib/secret.ts'
import { guardrailOf } from './sections/guardrails.ts'

const known = new WeakMap<ConfiguredObject, GuardrailSettings | { readonly problem: string }>()

/** One of the API, or why it cannot be used. */
export function sentGuardrail(object: ConfiguredObject): GuardrailSettings | { readonly problem: string } {
  let read = known.get(object)
  if (!read) known.set(object, (read = readObject(object)))
  return read
}

function readObject({ id, name, body, secrets, problem }: ConfiguredObject): ReturnType<typeof sentGuardrail> {
  if (problem !== undefined) return { problem }
  const hidden = secrets === null ? {} : (JSON.parse(secrets.reveal()) as Record<string, unknown>)
  const checked = schemaOf(guardrailKeys).safeParse({ ...(body.params as object), ...hidden })
  if (!checked.success) return { problem: checked.error.issues[0]?.message ?? 'it cannot be read' }
  const info = (body.info ?? {}) as Record<string, unknown>
  const settings = guardrailOf({ id, name, params: checked.data, info, origin: 'db' })
  const mistake = guardrailProblem(settings)
  return mistake ? { problem: `${mistake.path.join('.')}: ${mistake.message}` } : settings
}

/** Those of the file, and behind them those of the API whose names the file does not have. */
export function mergedGuardrails(
  ofFile: readonly GuardrailSettings[],
  objects: readonly ConfiguredObject[],
): readonly GuardrailSettings[] {
  const names = new Set(ofFile.map(one => one.name))
  const sent = objects.flatMap(object => {
    if (object.kind !== 'guardrail' || names.has(object.name)) return []
    const read = sentGuardrail(object)
    return 'problem' in read ? [] : [read]
  })
  return sent.length === 0 ? ofFile : [...ofFile, ...sent]
}

/** See `ConfigurationChecks.checkGuardrail`. */
export function checkedGuardrail(
  { name, params: sent, info, keepsSecrets = false }: GuardrailEntry,
  before: ConfiguredObject | undefined,
): Pick<CheckedModel, 'body' | 'secrets'> {
  const named = guardrailName().safeParse(name)
  if (!named.success) throw wrong(['guardrail_name'], named.error.issues[0]!.message)
  const params = withoutNulls({ ...(keepsSecrets && secretsOf(before)), ...withKnownSecrets(sent, before) })
  for (const [field, value] of Object.entries(params))
    if (typeof value === 'string' && /^os\.environ\/|^(?:file|vault|command)\/|\$\{/.test(value))
      throw wrong(
        ['litellm_params', field],
        'refers to a variable of the gateway, which requests cannot; send the value',
      )
  const checked = schemaOf(guardrailKeys).safeParse(params)
  if (!checked.success)
    throw unprocessable(
      problemsIn(checked.error.issues, params, 'body', Object.keys(guardrailKeys)).map(problem => ({
        ...problem,
        loc: ['body', 'guardrail', 'litellm_params', ...problem.loc.slice(1)],
      })),
    )
  const problem = guardrailProblem(guardrailOf({ id: '', name, params: checked.data, info, origin: 'db' }))
  if (problem) throw wrong(['litellm_params', ...problem.path], problem.message)
  const { visible, secrets } = splitGuardrail(checked.data)
  return { body: { params: visible, info }, secrets }
}

const wrong = (path: readonly (string | number)[], msg: string) =>
  unprocessable([{ loc: ['body', 'guardrail', ...path], msg, type: 'invalid' }])

const secretsOf = (object: ConfiguredObject | undefined): Readonly<Record<string, unknown>> =>
  object?.secrets ? (JSON.parse(object.secrets.reveal()) as Record<string, unknown>) : {}

const withoutNulls = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** A mask stands for the secret that is stored. */
function withKnownSecrets(sent: Readonly<Record<string, unknown>>, before: ConfiguredObject | undefined) {
  const known = secretsOf(before)
  const value = ([field, one]: [string, unknown]) => [field, one === secretMask && field in known ? known[field] : one]
  return Object.fromEntries(Object.entries(sent).map(value)) as Record<string, unknown>
}

/** Splits the checked fields: those that are shown, and those that are encrypted. */
function splitGuardrail(params: GuardrailParams): {
  readonly visible: Readonly<Record<string, unknown>>
  readonly secrets: Secret | null
} {
  const all = Object.entries(params).filter(([, value]) => value !== undefined)
  const isSecret = ([name]: [string, unknown]) => (guardrailSecrets as readonly string[]).includes(name)
  const hidden = all.filter(isSecret)
  return {
    visible: Object.fromEntries(all.filter(one => !isSecret(one))),
    secrets: hidden.length === 0 ? null : new Secret(JSON.stringify(Object.fromEntries(hidden))),
  }
}
