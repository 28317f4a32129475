/**
 * A key of the configuration is declared once, beside the function that reads it. From the declaration follow its
 * check, the value that holds where nothing sets it, `GET /config/effective`, `config print`, the JSON Schema for
 * editors and docs/configuration.md.
 */
import { z } from 'zod'
import type { SettingGroup } from './effective-values.ts'

/**
 * What of a value is never shown. `whole` = all of it; `members` = the values of a map, whose names are shown; `path` =
 * all of an address but its host; `named` = what stands under a name that sounds secret, at any depth; `account` = it
 * is no secret, but changes with the secret beside it.
 */
export type Secrecy = 'whole' | 'members' | 'path' | 'named' | 'account'

/** What is said of every key. */
interface Described {
  /** A sentence that can be read alone. It does not repeat the default, which is shown beside it. */
  readonly description: string
  /** Absent = the group of the section. */
  readonly group?: SettingGroup
  /** The section is refused without it. */
  readonly isRequired?: true
  readonly secret?: Secrecy
  /** LiteLLM's name of the key, where it is another. */
  readonly litellm?: string
  /** The path of a key that means the same and wins; the default is declared there. */
  readonly sameAs?: string
  /** The key has an effect only where the key at this path has this value, or any value. */
  readonly usedWith?: { readonly path: string; readonly value?: unknown }
  /** A variable of the process that wins over the file. */
  readonly winningVariable?: string
  /** Variables of the process that count where the file does not have the key; the first that is set. */
  readonly fillingVariables?: readonly string[]
  /** A change of it counts at the next start. */
  readonly isReadAtStart?: true
}

/** A key with a value of its own. */
interface ValueKey extends Described {
  /** Makes the check of the value. It is called when a file is read: a gateway that reads none makes no schema. */
  readonly type: () => z.ZodType
  /** What holds where nothing sets the key; absent = it is off, or without a limit. */
  readonly default?: unknown
  /** A value, or a reference to one, that a user could write. */
  readonly example: unknown
}

/** A key with further keys below it. */
interface SectionKey extends Described {
  readonly keys: SettingKeys
  /** Adds checks that concern several keys. */
  readonly also?: (section: z.ZodObject) => z.ZodType
  readonly example?: unknown
}

/** A key with a list of sections, or with a map of sections under names that the operator chooses. */
interface EntriesKey extends Described {
  readonly entries: SettingKeys
  /** Adds checks that concern several keys of an entry. */
  readonly also?: (entry: z.ZodObject) => z.ZodType
  readonly example?: unknown
}
interface ListKey extends EntriesKey {
  readonly list: (entry: z.ZodType) => z.ZodArray
}
interface MapKey extends EntriesKey {
  readonly map: (entry: z.ZodType) => z.ZodRecord
}

/** The declaration of a key. */
export type SettingKey = ValueKey | SectionKey | ListKey | MapKey
/** The keys of a section by their names, in the order in which they are listed. */
export type SettingKeys = Readonly<Record<string, SettingKey>>

type ValueOf<Key> = Key extends { readonly keys: infer Keys }
  ? Values<Keys>
  : Key extends { readonly entries: infer Keys; readonly list: unknown }
    ? Values<Keys>[]
    : Key extends { readonly entries: infer Keys }
      ? Record<string, Values<Keys>>
      : Key extends { readonly type: () => infer Type extends z.ZodType }
        ? z.output<Type>
        : never

type Required = { readonly isRequired: true }
type Defaulted = { readonly default: unknown }

/** The values of checked keys. */
export type Values<Keys> = {
  [Name in keyof Keys as Keys[Name] extends Required ? never : Name]?: ValueOf<Keys[Name]> | undefined
} & { [Name in keyof Keys as Keys[Name] extends Required ? Name : never]: ValueOf<Keys[Name]> }

/** The same with what holds where nothing sets a key. */
export type Filled<Keys> = Omit<Values<Keys>, DefaultedNames<Keys>> & {
  [Name in DefaultedNames<Keys>]: ValueOf<Keys[Name]>
}
type DefaultedNames<Keys> = { [Name in keyof Keys]: Keys[Name] extends Defaulted ? Name : never }[keyof Keys]

/** Declares keys of one group. */
export function settingKeys<const Keys extends SettingKeys>(group: SettingGroup, keys: Keys): Keys {
  // The type of a mapped object forgets which key has which type.
  return Object.fromEntries(Object.entries(keys).map(([name, one]) => [name, { group, ...one }])) as unknown as Keys
}

/** The same keys in another section, beside those of `section`, which win. */
export function secondKeys<Keys extends SettingKeys>(section: string, keys: Keys): SecondKeys<Keys> {
  const second = Object.entries(keys).map(([name, { description, ...key }]) => {
    const { default: _, ...rest } = key as Partial<ValueKey>
    const sentence = `The same as \`${name}\` of \`${section}\`, which wins: ${description}`
    return [name, { ...rest, description: sentence, sameAs: `${section}.${name}` }]
  })
  return Object.fromEntries(second) as unknown as SecondKeys<Keys>
}

type SecondKeys<Keys> = { readonly [Name in keyof Keys]: Omit<Keys[Name], 'default'> & { readonly sameAs: string } }

/** The given values, over the defaults of keys that are left out. */
export function withDefaults<Keys extends SettingKeys>(keys: Keys, given: Values<Keys>): Filled<Keys> {
  const values: Record<string, unknown> = { ...given }
  for (const [name, key] of Object.entries(keys))
    if (values[name] === undefined && 'default' in key) values[name] = key.default
  return values as Filled<Keys>
}

/** The check of a section. Unknown keys are mistakes. */
export function schemaOf<Keys extends SettingKeys>(keys: Keys): z.ZodType<Values<Keys>> & z.ZodObject {
  let schema = schemas.get(keys)
  if (!schema) {
    schema = z.strictObject(Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, describedSchema(key)])))
    schemas.set(keys, schema)
  }
  // What zod infers of the parts is what `Values` says; it forgets it for parts that are made in a loop.
  return schema as unknown as z.ZodType<Values<Keys>> & z.ZodObject
}

const schemas = new WeakMap<SettingKeys, z.ZodObject>()

function describedSchema(key: SettingKey): z.ZodType {
  const { description, example, isRequired } = key
  const value = valueSchema(key)
  return (isRequired ? value : value.optional()).meta({
    description,
    ...('default' in key && { default: key.default }),
    ...(example !== undefined && { examples: [example] }),
  })
}

/** The check of one value. */
export function valueSchema(key: SettingKey): z.ZodType {
  if ('type' in key) return key.type()
  const { also = (section: z.ZodType) => section } = key
  if ('keys' in key) return also(schemaOf(key.keys))
  const entry = also(schemaOf(key.entries))
  return 'list' in key ? key.list(entry) : key.map(entry)
}
