/** The configuration file as it was read last, with what was made by API. */
import { secretNamesOf } from '../core/objects/configured-objects.ts'
import type {
  CheckedModel,
  ConfigurationChecks,
  ConfiguredObject,
  ShownFileCredential,
  GuardrailEntry,
  ToolServerEntry,
  ModelBlockBody,
} from '../core/objects/configured-objects.ts'
import type { Settings } from '../core/settings.ts'
import { splitSecrets } from './models/entry-context.ts'
import type { EntryContext, MergedSettings } from './models/entry-context.ts'
import { secretProblem } from './models/api-references.ts'
import { secretReferencesIn } from './secret-sources.ts'
import type { SecretSources } from './secret-sources.ts'
import type { SentModels } from './models/api-models.ts'

type SentObjects = typeof import('./sent-objects.ts')

/** Kinds that are read without the schema of the file. */
const plainKinds: ReadonlySet<ConfiguredObject['kind']> = new Set(['model_block', 'public_models'])

/** Both halves, and the settings that they make. Settings that were returned before do not change. */
export class MergedConfiguration implements ConfigurationChecks {
  #file: Settings
  #entryContext: EntryContext
  /** Loaded with the first object that needs it. */
  #reader: SentObjects | undefined
  /** Under the settings of the file as it is; undefined = no model was read. */
  #sent: SentModels | undefined
  #objects: readonly ConfiguredObject[] = []
  #merged: MergedSettings

  readonly #secrets: SecretSources | undefined

  /** `secrets` absent = those that are kept elsewhere are not read. */
  constructor(file: Settings, entryContext: EntryContext, secrets?: SecretSources) {
    this.#secrets = secrets
    this.#file = file
    this.#entryContext = entryContext
    this.#merged = this.#merge()
  }

  get settings(): Settings {
    return this.#merged.settings
  }

  #merge(): MergedSettings {
    const { guardrails: ofFile = [], storesModels } = this.#file
    const isRead = this.#reader !== undefined && this.#objects.length > 0
    const models = isRead
      ? this.#models.merge(this.#file, this.#objects)
      : { settings: this.#file, notServed: new Map<string, string>() }
    const merged = withBlocks(models, this.#objects)
    const guardrails = isRead && storesModels ? this.#loaded.mergedGuardrails(ofFile, this.#objects) : ofFile
    const publicModels = mergedPublicModels(this.#file, this.#objects)
    const { toolServers: serversOfFile = [], privateToolHosts } = this.#file
    const toolServers =
      isRead && storesModels
        ? this.#loaded.mergedToolServers(serversOfFile, this.#objects, privateToolHosts)
        : serversOfFile
    const changed = {
      ...(publicModels !== this.#file.publicModels && { publicModels }),
      ...(guardrails !== ofFile && { guardrails }),
      ...(toolServers !== serversOfFile && { toolServers }),
    }
    if (Object.keys(changed).length === 0) return merged
    return { ...merged, settings: { ...merged.settings, ...changed } }
  }

  /** Why models that were made by API are not served, by their ids. */
  get notServed(): ReadonlyMap<string, string> {
    return this.#merged.notServed
  }

  /** The file was read anew. */
  useFile(file: Settings, entryContext: EntryContext): void {
    this.#file = file
    this.#entryContext = entryContext
    this.#sent = undefined
    this.#merged = this.#merge()
  }

  /**
   * What was made by API has changed. A promise = what reads it has to be loaded first: `objects` is asked again then.
   */
  useObjects(objects: () => readonly ConfiguredObject[]): Promise<void> | undefined {
    if (!this.#reader && objects().some(one => !plainKinds.has(one.kind)))
      return this.load().then(() => this.useObjects(objects))
    this.#objects = objects()
    this.#merged = this.#merge()
    return undefined
  }

  async load(): Promise<void> {
    this.#reader ??= await import('./sent-objects.ts')
  }

  /** Throws where `load` was not called before. */
  get #loaded(): SentObjects {
    if (!this.#reader) throw new Error('what reads objects of the API is not loaded')
    return this.#reader
  }

  get #models(): SentModels {
    return (this.#sent ??= new this.#loaded.SentModels(this.#entryContext))
  }

  /** The references to secrets in what was made by API. */
  references(): string[] {
    return secretReferencesIn(this.#objects.map(one => one.body)).filter(one => this.#mayRead(one))
  }

  /** Reads the secrets that a request refers to and may refer to. Bounded, and never rejects. */
  async readSecrets(value: unknown): Promise<void> {
    const references = secretReferencesIn(value).filter(one => this.#mayRead(one))
    if (references.length > 0) await this.#secrets?.read(references)
  }

  #mayRead(reference: string): boolean {
    return secretProblem(reference, this.#entryContext.references) === undefined
  }

  checkModel(entry: Readonly<Record<string, unknown>>, id: string, before: ConfiguredObject | undefined): CheckedModel {
    return this.#models.check(entry, id, { before, objects: this.#objects })
  }

  checkCredential(
    values: Readonly<Record<string, unknown>>,
    before: ConfiguredObject | undefined,
  ): Pick<CheckedModel, 'body' | 'secrets'> {
    return this.#loaded.checkCredential(values, before, this.#entryContext)
  }

  credentialOf(model: ConfiguredObject): Pick<CheckedModel, 'body' | 'secrets'> {
    return this.#loaded.checkCredential(this.#loaded.connectionOf(model), undefined, this.#entryContext)
  }

  checkGuardrail(entry: GuardrailEntry, before: ConfiguredObject | undefined) {
    return this.#loaded.checkedGuardrail(entry, before)
  }

  checkToolServer(entry: ToolServerEntry, before: ConfiguredObject | undefined) {
    return this.#loaded.checkedToolServer(entry, before)
  }

  toolServerProblem(object: ConfiguredObject): string | undefined {
    if (!this.#file.storesModels) return 'general_settings.store_model_in_db is false'
    const read = this.#loaded.sentToolServer(object, this.#file.privateToolHosts)
    if ('problem' in read) return read.problem
    const isInUse = this.settings.toolServers?.some(one => one.id === object.id) === true
    return isInUse ? undefined : 'another tool server has this name, or this alias'
  }

  guardrailProblem(object: ConfiguredObject): string | undefined {
    const { guardrails = [], storesModels } = this.#file
    if (!storesModels) return 'general_settings.store_model_in_db is false'
    if (guardrails.some(one => one.name === object.name)) return 'a guardrail of the configuration file has this name'
    const read = this.#loaded.sentGuardrail(object)
    return 'problem' in read ? read.problem : undefined
  }

  fileCredentials(): readonly ShownFileCredential[] {
    return this.#entryContext.credentials.map(({ name, info, values, where }) => {
      const { visible, secrets } = splitSecrets(values)
      return { name, info, values: visible, secretNames: secretNamesOf(secrets), where }
    })
  }
}

/**
 * Deployments that an administrator switched off, those of the file too, also where models cannot be made by API. All
 * others stay the same objects.
 */
function withBlocks(merged: MergedSettings, objects: readonly ConfiguredObject[]): MergedSettings {
  const blocks = new Map(objects.flatMap(one => (one.kind === 'model_block' ? [[one.id, one]] : [])))
  if (blocks.size === 0) return merged
  const deployments = merged.settings.deployments.map(one => {
    const block = blocks.get(one.id)
    if (!block) return one
    const { reason } = block.body as ModelBlockBody
    return { ...one, blocked: { by: block.updatedBy, atMs: block.updatedAtMs, reason } }
  })
  return { ...merged, settings: { ...merged.settings, deployments } }
}

/** The list of the file, or that of the API where the file has none. */
function mergedPublicModels(
  { publicModels, storesModels }: Settings,
  objects: readonly ConfiguredObject[],
): Settings['publicModels'] {
  const sent = objects.find(one => one.kind === 'public_models')
  if (!sent || !storesModels || publicModels.where !== null) return publicModels
  return { ...publicModels, names: sent.body.names as string[] }
}
