/** The configuration file as it was read last, with what was made by API. */
import { secretNamesOf } from '../core/objects/configured-objects.ts'
import type {
  CheckedModel,
  ConfigurationChecks,
  ConfiguredObject,
  FileCredential,
  GuardrailEntry,
  ModelBlockBody,
} from '../core/objects/configured-objects.ts'
import type { Settings } from '../core/settings.ts'
import { checkCredential, connectionOf, SentModels, splitSecrets } from './models/api-models.ts'
import type { EntrySurroundings, MergedSettings } from './models/api-models.ts'
import { checkedGuardrail, mergedGuardrails, sentGuardrail } from './guardrails.ts'
import { problemOf } from './models/api-references.ts'
import { secretReferencesIn } from './secret-sources.ts'
import type { SecretSources } from './secret-sources.ts'

/** Both halves, and the settings that they make. Settings that were returned before do not change. */
export class MergedConfiguration implements ConfigurationChecks {
  #file: Settings
  #surroundings: EntrySurroundings
  #sent: SentModels
  #objects: readonly ConfiguredObject[] = []
  #merged: MergedSettings

  readonly #secrets: SecretSources | undefined

  /** `secrets` absent = those that are kept elsewhere are not read. */
  constructor(file: Settings, surroundings: EntrySurroundings, secrets?: SecretSources) {
    this.#secrets = secrets
    this.#file = file
    this.#surroundings = surroundings
    this.#sent = new SentModels(surroundings)
    this.#merged = this.#merge()
  }

  get settings(): Settings {
    return this.#merged.settings
  }

  #merge(): MergedSettings {
    const merged = withBlocks(this.#sent.merge(this.#file, this.#objects), this.#objects)
    const { guardrails: ofFile = [], storesModels } = this.#file
    const guardrails = storesModels ? mergedGuardrails(ofFile, this.#objects) : ofFile
    const publicModels = mergedPublicModels(this.#file, this.#objects)
    if (guardrails === ofFile && publicModels === this.#file.publicModels) return merged
    const changed = guardrails === ofFile ? { publicModels } : { guardrails, publicModels }
    return { ...merged, settings: { ...merged.settings, ...changed } }
  }

  /** Why models that were made by API are not served, by their ids. */
  get notServed(): ReadonlyMap<string, string> {
    return this.#merged.notServed
  }

  /** The file was read anew. */
  useFile(file: Settings, surroundings: EntrySurroundings): void {
    this.#file = file
    this.#surroundings = surroundings
    this.#sent = new SentModels(surroundings)
    this.#merged = this.#merge()
  }

  /** What was made by API has changed. */
  useObjects(objects: readonly ConfiguredObject[]): void {
    this.#objects = objects
    this.#merged = this.#merge()
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
    return problemOf(reference, this.#surroundings.secretDirectories) === undefined
  }

  checkModel(entry: Readonly<Record<string, unknown>>, id: string, before: ConfiguredObject | undefined): CheckedModel {
    return this.#sent.check(entry, id, { before, objects: this.#objects })
  }

  checkCredential(
    values: Readonly<Record<string, unknown>>,
    before: ConfiguredObject | undefined,
  ): Pick<CheckedModel, 'body' | 'secrets'> {
    return checkCredential(values, before, this.#surroundings)
  }

  credentialOf(model: ConfiguredObject): Pick<CheckedModel, 'body' | 'secrets'> {
    return checkCredential(connectionOf(model), undefined, this.#surroundings)
  }

  checkGuardrail(entry: GuardrailEntry, before: ConfiguredObject | undefined) {
    return checkedGuardrail(entry, before)
  }

  guardrailProblem(object: ConfiguredObject): string | undefined {
    const { guardrails = [], storesModels } = this.#file
    if (!storesModels) return 'general_settings.store_model_in_db is false'
    if (guardrails.some(one => one.name === object.name)) return 'a guardrail of the configuration file has this name'
    const read = sentGuardrail(object)
    return 'problem' in read ? read.problem : undefined
  }

  fileCredentials(): readonly FileCredential[] {
    return this.#surroundings.credentials.map(({ name, info, values, where }) => {
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
