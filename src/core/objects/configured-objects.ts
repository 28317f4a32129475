/** Models, credentials and access groups that administrators make by API; they stand beside those of the file. */
import type { Secret } from '../../lib/secret.ts'
import type { Deployment } from '../deployment.ts'
import type { ChangeActor } from '../tenancy/change-actor.ts'

/** What can be made by API. */
export type ConfiguredKind =
  | 'model'
  | 'credential'
  | 'access_group'
  | 'guardrail'
  | 'tool_server'
  | 'public_models'
  | 'model_block'

/** The body of a `model_block`, whose id and name are the id of the deployment that gets no calls. */
export interface ModelBlockBody extends Readonly<Record<string, unknown>> {
  /** The public name of the deployment then. */
  readonly model_name: string
  readonly reason: string | null
}

/** The name of the only object of the kind `public_models`: the names of models that are shown without a key. */
export const publicModelsName = 'public_model_groups'

/** One object, without its secrets in plain text. Immutable; a change makes a new one. Timestamps: ms since 1970. */
export interface ConfiguredObject {
  readonly kind: ConfiguredKind
  /** Of a model its deployment id, of the others a UUID. */
  readonly id: string
  /** Unique among those of its kind; models alone may share their public name. */
  readonly name: string
  /** What is no secret: of a model its entry as the configuration file has it, in the file's names. */
  readonly body: Readonly<Record<string, unknown>>
  /** A JSON object with the fields that are secret; null = there are none. */
  readonly secrets: Secret | null
  /** Why the secrets cannot be read, for the operator; absent = they can. */
  readonly problem?: string | undefined
  /** 1 when it is made; each change adds 1. */
  readonly version: number
  readonly createdAtMs: number
  /** The user who made it, or the key without a user. */
  readonly createdBy: string
  readonly updatedAtMs: number
  readonly updatedBy: string
}

/** The content of an object that is to be stored. */
export interface ConfiguredContent extends Pick<ConfiguredObject, 'kind' | 'id' | 'name' | 'body'> {
  /** The fields that are secret, as a JSON object; null = there are none. */
  readonly secrets: Secret | null
}

/** The content of an object that is to replace another version of it. */
export interface ConfiguredChange extends ConfiguredContent {
  /** The version that the change was made from. */
  readonly version: number
}

/**
 * The objects in the database. Each change has its row in the audit log, and is durable and in use in this process when
 * its promise resolves, in others within a second. Changes throw `conflict` for a name that is taken and for a version
 * that is not the present one, `invalid-request` when secrets cannot be encrypted here, `overloaded` when the database
 * is unreachable.
 */
export interface ConfiguredStore {
  /** As in use; by kind and id. */
  objects(): readonly ConfiguredObject[]
  /** Takes over what other processes have changed until now; to be called before an object is read to be changed. */
  refresh(): Promise<void>
  insert(content: ConfiguredContent, actor: ChangeActor): Promise<ConfiguredObject>
  update(change: ConfiguredChange, actor: ChangeActor): Promise<ConfiguredObject>
  /** Throws `not-found` when it does not exist any more. */
  delete(object: Pick<ConfiguredObject, 'kind' | 'id' | 'version'>, actor: ChangeActor): Promise<void>
}

/** An entry of a model that was checked as one of the file. */
export interface CheckedModel {
  readonly deployment: Deployment
  /** Its fields in the names of the file, without the secret ones. */
  readonly body: Readonly<Record<string, unknown>>
  /** The secret fields as a JSON object; null = there are none. */
  readonly secrets: Secret | null
  /** What is accepted and probably a mistake. */
  readonly warnings: readonly string[]
}

/** A credential of the configuration file. */
export interface ShownFileCredential {
  readonly name: string
  readonly info: Readonly<Record<string, unknown>>
  /** Values that are no secrets, and the names of those that are. */
  readonly values: Readonly<Record<string, unknown>>
  readonly secretNames: readonly string[]
  /** `config.yaml:12`. */
  readonly where: string
}

/** A guardrail as a client sends it. */
export interface GuardrailEntry {
  readonly name: string
  readonly params: Readonly<Record<string, unknown>>
  readonly info: Readonly<Record<string, unknown>>
  /** Secrets that are not sent stay. */
  readonly keepsSecrets?: boolean
}

/** A tool server as a client sends it. */
export interface ToolServerEntry {
  readonly name: string
  /** In the names of the configuration file. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Secrets that are not sent stay. */
  readonly keepsSecrets?: boolean
}

/** Checks what is to be stored, by the rules of the configuration file. */
export interface ConfigurationChecks {
  /** Loads what the other methods need; to be called before them, but for `fileCredentials`. */
  load(): Promise<void>
  /**
   * Reads the secrets that a request refers to (`file/`, `vault/`), within seconds; to be called before a check. Never
   * rejects: the check reports what could not be read.
   */
  readSecrets(value: unknown): Promise<void>
  /**
   * Checks an entry, without storing it: `entry` as a client wrote it, `before` = the object that it changes. What the
   * entry does not name stays, and null takes a field out. Throws `unprocessable` with the field of each mistake.
   */
  checkModel(entry: Readonly<Record<string, unknown>>, id: string, before: ConfiguredObject | undefined): CheckedModel
  /** Splits the values of a credential. `before` and errors as for `checkModel`. */
  checkCredential(
    values: Readonly<Record<string, unknown>>,
    before: ConfiguredObject | undefined,
  ): Pick<CheckedModel, 'body' | 'secrets'>
  /** The key and the address of a model as the values of a credential. Throws `unprocessable` where it has none. */
  credentialOf(model: ConfiguredObject): Pick<CheckedModel, 'body' | 'secrets'>
  fileCredentials(): readonly ShownFileCredential[]
  /**
   * Splits the fields of a guardrail, which may be masked where `before` knows them. Throws `unprocessable` for what
   * its kind cannot work with.
   */
  checkGuardrail(entry: GuardrailEntry, before: ConfiguredObject | undefined): Pick<CheckedModel, 'body' | 'secrets'>
  /**
   * Splits the fields of a tool server, which may be masked where `before` knows them. Throws `unprocessable` for what
   * cannot be used, and for programs, which only the configuration file names.
   */
  checkToolServer(entry: ToolServerEntry, before: ConfiguredObject | undefined): Pick<CheckedModel, 'body' | 'secrets'>
  /** Why a tool server that is stored is not in use; undefined = it is. */
  toolServerProblem(object: ConfiguredObject): string | undefined
  /** Why a guardrail that is stored is not in use; undefined = it is. */
  guardrailProblem(object: ConfiguredObject): string | undefined
}

/** What answers show in the place of a secret; sent back, it leaves the secret as it is. */
export const secretMask = '********'

/** Fields as they are shown: those that are secret by the mask. */
export function maskedFields(
  visible: Readonly<Record<string, unknown>>,
  secretNames: readonly string[],
): Record<string, unknown> {
  return { ...visible, ...Object.fromEntries(secretNames.map(name => [name, secretMask])) }
}

/** The names of the secret fields of an object. */
export function secretNamesOf(secrets: Secret | null): readonly string[] {
  return secrets === null ? [] : Object.keys(JSON.parse(secrets.reveal()) as object)
}
