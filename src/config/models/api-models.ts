/**
 * Models that are made by API: checked as entries of the configuration file, merged with those of the file into one set
 * of settings.
 */
import { unprocessable } from '../../core/errors.ts'
import type { Problem } from '../../core/errors.ts'
import { secretMask } from '../../core/objects/configured-objects.ts'
import type { CheckedModel, ConfiguredObject } from '../../core/objects/configured-objects.ts'
import type { Deployment } from '../../core/deployment.ts'
import type { Settings } from '../../core/settings.ts'
import { isObject } from '../../lib/json/json-values.ts'
import type { Secret } from '../../lib/secret.ts'
import { entryProblems } from '../checks/entry-checks.ts'
import { readConfig } from '../reading/parse.ts'
import { knownKeys } from '../sections/setting-paths.ts'
import type { ModelEntry } from '../sections/models.ts'
import { secretParams } from '../sections/model-params.ts'
import { translateNames } from '../litellm/translate-names.ts'
import type { Path } from '../reading/paths.ts'
import type { Finding } from '../reading/reading.ts'
import { identityFields } from './deployment-ids.ts'
import { accessGroups } from '../../access/models/access-groups.ts'
import { missingPriceWarnings } from './deployment-lists.ts'
import { buildDeployment } from './deployments.ts'
import { apiEnvironment, apiReferenceProblems, identityProblem } from './api-references.ts'
import { splitSecrets } from './entry-context.ts'
import { shownParams } from './shown-params.ts'
import type { EntryContext, MergedSettings } from './entry-context.ts'

type Fields = Readonly<Record<string, unknown>>

interface ReadEntry {
  readonly deployment?: Deployment
  readonly problems: readonly Pick<Finding, 'path' | 'message'>[]
  /** What is accepted and probably a mistake. */
  readonly notices?: readonly Pick<Finding, 'path' | 'message'>[]
}

/** Reads entries of the API under the settings of one file; an entry that did not change is read once. */
export class SentModels {
  readonly #entryContext: EntryContext
  readonly #read = new WeakMap<
    ConfiguredObject,
    { readonly credential: ConfiguredObject | undefined; read: ReadEntry }
  >()

  constructor(entryContext: EntryContext) {
    this.#entryContext = entryContext
  }

  /** A model that cannot be served is left out, with the reason; the file's win where ids are the same. */
  merge(settings: Settings, objects: readonly ConfiguredObject[]): MergedSettings {
    const notServed = new Map<string, string>()
    if (objects.length === 0 || !settings.storesModels) return { settings, notServed }
    const ids = new Set(settings.deployments.map(one => one.id))
    const credentials = credentialsIn(objects)
    const served: Deployment[] = []
    for (const object of objects) {
      if (object.kind !== 'model') continue
      const { deployment, problems } = this.#readOnce(object, credentials)
      if (!deployment) notServed.set(object.id, problems.map(shownProblem).join('; '))
      else if (ids.has(object.id)) notServed.set(object.id, 'a model of the configuration file has the same id')
      else served.push(deployment)
    }
    const deployments = [...settings.deployments, ...served]
    const sentAccessGroups = sentGroups(objects)
    return {
      settings: {
        ...settings,
        deployments,
        accessGroups: accessGroups(deployments, sentAccessGroups),
        sentAccessGroups,
      },
      notServed,
    }
  }

  /**
   * Checks an entry that a client sends, in LiteLLM's names or ours. `before` = the object that it changes: what the
   * entry does not name stays, and null takes a field out. Throws `unprocessable`.
   */
  check(
    entry: Fields,
    id: string,
    { before, objects }: { before: ConfiguredObject | undefined; objects: readonly ConfiguredObject[] },
  ): CheckedModel {
    const findings: Finding[] = []
    const notes: Finding[] = []
    const names = translateNames(
      { model_list: [entry] },
      { isFile: false, findings, warnings: notes, keysAt: knownKeys },
    )
    const sent = (names.value as { model_list: [Fields] }).model_list[0]
    const merged = withId(before ? mergedEntry(plainEntry(before), sent) : withoutNulls(sent), id)
    const written = (path: Path) => names.writtenPath(['model_list', 0, ...path]).slice(2)
    const refuse = (problems: readonly Pick<Finding, 'path' | 'message'>[]) =>
      unprocessable(problems.map(({ path, message }) => toProblem(written(path), message)))
    const early = [...findings.map(one => ({ ...one, path: one.path.slice(2) })), ...masksIn(merged)]
    if (early.length > 0) throw refuse(early)
    const { deployment, problems, notices = [] } = this.#readEntry(merged, id, credentialsIn(objects))
    if (!deployment) throw refuse(problems)
    const { visible, secrets } = splitSecrets(merged.proxy_params as Fields)
    return {
      deployment,
      body: { ...merged, proxy_params: visible },
      secrets,
      warnings: [
        ...notes.map(one => `${names.writtenPath(one.path).slice(2).join('.')}: ${one.message}`),
        ...notices.map(one => `${written(one.path).join('.')}: ${one.message}`),
        ...missingPriceWarnings([deployment]),
      ],
    }
  }

  #readOnce(object: ConfiguredObject, credentials: ReadonlyMap<string, ConfiguredObject>): ReadEntry {
    const name = (object.body.proxy_params as Fields | undefined)?.credential_name
    const credential = typeof name === 'string' ? credentials.get(name) : undefined
    const known = this.#read.get(object)
    if (known && known.credential === credential) return known.read
    const problem = object.problem ?? credential?.problem
    const read: ReadEntry =
      problem !== undefined
        ? { problems: [{ path: [], message: problem }] }
        : this.#readEntry(plainEntry(object), object.id, credentials)
    this.#read.set(object, { credential, read })
    return read
  }

  /** Problems have their paths inside the entry, in our names. */
  #readEntry(entry: Fields, id: string, credentials: ReadonlyMap<string, ConfiguredObject>): ReadEntry {
    const { context, proxies, secrets, credentials: ofFile, references } = this.#entryContext
    const where = `the model ${id} made by API`
    const name = isObject(entry.proxy_params) ? entry.proxy_params.credential_name : undefined
    const credential = typeof name === 'string' ? credentials.get(name) : undefined
    const values = credential && plainValues(credential)
    const refused = [
      ...apiReferenceProblems(entry, references),
      ...apiReferenceProblems(values, references).map(one => ({ ...one, path: ['proxy_params', 'credential_name'] })),
    ]
    if (refused.length > 0) return { problems: refused }
    const document = {
      model_list: [entry],
      ...(values && { credential_list: [{ credential_name: name, credential_values: values }] }),
    }
    const reading = readConfig(JSON.stringify(document), {
      file: where,
      environment: apiEnvironment(context.environment, references),
      secrets,
      sent: { credentials: new Map(ofFile.map(one => [one.name, one.values])) },
    })
    const problems = reading.problems.map(({ path, message }) => ({ path: insideEntry(path), message }))
    const read = reading.entries?.[0]?.entry
    if (problems.length > 0 || !read) return { problems }
    const own = entryProblems(read)
    if (own.length > 0) return { problems: own }
    const deployment = buildDeployment(read as ModelEntry, { ...context, origin: { kind: 'api', where } })
    if ('message' in deployment) return { problems: [deployment] }
    const { identity } = deployment.target
    const ofHost = identity && identityProblem(identity, references)
    if (ofHost !== undefined) return { problems: [{ path: ['proxy_params'], message: ofHost }] }
    const mistakes = proxies.mistakes([deployment])
    if (mistakes.length > 0) return { problems: mistakes.map(message => ({ path: ['proxy_params'], message })) }
    const written = { ...deployment, writtenParams: shownParams(entry.proxy_params as Fields) }
    return {
      deployment: written,
      problems: [],
      notices: reading.notices.map(one => ({ ...one, path: insideEntry(one.path) })),
    }
  }
}

/**
 * Splits the values of a credential, of which `before` is the version until now: null takes a value out. Throws
 * `unprocessable` for a field or a value that no model can have.
 */
export function checkCredential(
  values: Fields,
  before: ConfiguredObject | undefined,
  { references, context, secrets: known }: EntryContext,
): Pick<CheckedModel, 'body' | 'secrets'> {
  const earlier = before ? plainValues(before) : {}
  const merged = withoutNulls({ ...earlier, ...withoutMasks(values, earlier) })
  const document = { credential_list: [{ credential_name: 'credential', credential_values: merged }] }
  const reading = readConfig(JSON.stringify(document), {
    file: 'credential',
    environment: apiEnvironment(context.environment, references),
    secrets: known,
    sent: { credentials: new Map() },
  })
  const refused = apiReferenceProblems({ credential_values: merged }, references)
  const problems = [
    ...refused,
    // A variable that may not be read is not there for the reading.
    ...(refused.length > 0 ? [] : reading.problems.map(({ path, message }) => ({ path: path.slice(2), message }))),
    ...masksIn({ credential_values: merged }),
  ]
  if (problems.length > 0) throw unprocessable(problems.map(({ path, message }) => toProblem(path, message)))
  const named = (reading.named as { credential_list: [{ credential_values: Fields }] }).credential_list[0]
  const { visible, secrets } = splitSecrets(named.credential_values)
  return { body: visible, secrets }
}

const plain = (secrets: Secret | null): Fields =>
  secrets === null ? {} : (JSON.parse(secrets.reveal()) as Record<string, unknown>)

/** The whole entry, with its secrets. */
function plainEntry({ body, secrets }: ConfiguredObject): Fields {
  return { ...body, proxy_params: { ...(body.proxy_params as Fields), ...plain(secrets) } }
}

/** What a credential can hold of a model's parameters: its key, and the fields of its account. */
export function connectionOf(model: ConfiguredObject): Fields {
  const params = plainEntry(model).proxy_params as Fields
  const isOfConnection = (name: string) => name !== 'model' && (identityFields.has(name) || secretParams.has(name))
  return Object.fromEntries(Object.entries(params).filter(([name]) => isOfConnection(name) || name === 'api_version'))
}

const plainValues = ({ body, secrets }: ConfiguredObject): Fields => ({ ...(body.values as Fields), ...plain(secrets) })

function credentialsIn(objects: readonly ConfiguredObject[]): ReadonlyMap<string, ConfiguredObject> {
  return new Map(objects.flatMap(one => (one.kind === 'credential' ? [[one.name, one]] : [])))
}

const withId = (entry: Fields, id: string): Fields => ({
  ...entry,
  model_info: { ...(isObject(entry.model_info) ? entry.model_info : {}), id },
})

/** Field by field in the two sections; null takes a field out. */
function mergedEntry(before: Fields, sent: Fields): Fields {
  const sections = ['proxy_params', 'model_info'].flatMap(name => {
    const known = (before[name] ?? {}) as Fields
    return isObject(sent[name]) ? [[name, { ...known, ...withoutMasks(sent[name], known) }]] : []
  })
  return withoutNulls({ ...before, ...sent, ...Object.fromEntries(sections) })
}

/** LiteLLM's clients send null for what they do not set. */
function withoutNulls(entry: Fields): Fields {
  const filled = Object.entries(entry).filter(([, value]) => value !== null)
  return Object.fromEntries(filled.map(([name, value]) => [name, isObject(value) ? withoutNulls(value) : value]))
}

/** What was sent, without masks of secrets that are known. */
function withoutMasks(sent: Fields, known: Fields): Fields {
  return Object.fromEntries(Object.entries(sent).filter(([name, value]) => value !== secretMask || !(name in known)))
}

function masksIn(sections: Fields): ReadEntry['problems'] {
  return Object.entries(sections).flatMap(([section, fields]) =>
    Object.entries(isObject(fields) ? fields : {}).flatMap(([name, value]) =>
      value === secretMask ? [{ path: [section, name], message: maskProblem }] : [],
    ),
  )
}

const maskProblem = 'is what answers show in the place of a secret; send the secret itself'

/** A problem of the credential stands at the field that names it. */
function insideEntry(path: Path): Path {
  return path[0] === 'model_list' ? path.slice(2) : ['proxy_params', 'credential_name']
}

function toProblem(path: Path, message: string): Problem {
  const type = message.startsWith('unknown key')
    ? 'unknown_field'
    : message.startsWith('is missing')
      ? 'missing'
      : 'invalid'
  return { loc: ['body', ...path], msg: message, type }
}

const shownProblem = ({ path, message }: ReadEntry['problems'][number]): string =>
  path.length === 0 ? message : `${path.join('.')}: ${message}`

function sentGroups(objects: readonly ConfiguredObject[]): Settings['accessGroups'] {
  const groups = objects.filter(({ kind }) => kind === 'access_group')
  return Object.fromEntries(groups.map(({ name, body }) => [name, body.models as string[]]))
}
