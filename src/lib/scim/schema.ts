/** Schemas of SCIM resources (RFC 7643, section 7), and how names in requests are found in them. */

/** The definition of an attribute, as `/Schemas` shows it. */
export interface Attribute {
  readonly name: string
  readonly type: 'string' | 'boolean' | 'complex' | 'dateTime' | 'reference'
  readonly description: string
  readonly multiValued?: true
  readonly required?: true
  /** Absent = upper and lower case are the same. */
  readonly caseExact?: true
  /** Absent = `readWrite`. */
  readonly mutability?: 'readOnly' | 'immutable' | 'writeOnly'
  /** Absent = `default`. */
  readonly returned?: 'always' | 'never'
  /** Absent = `none`. */
  readonly uniqueness?: 'server'
  readonly canonicalValues?: readonly string[]
  readonly referenceTypes?: readonly string[]
  readonly subAttributes?: readonly Attribute[]
  /** Of a list; absent = 100. */
  readonly elementsMax?: number
}

/** A set of attributes under one address. */
export interface Schema {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly attributes: readonly Attribute[]
}

/** A kind of resource. */
export interface ResourceType {
  readonly name: string
  /** Below the base address: `/Users`. */
  readonly endpoint: string
  readonly description: string
  readonly schema: Schema
  readonly extensions: readonly Schema[]
}

/** A JSON object. */
export type Values = Record<string, unknown>

/** Attributes that every resource has beside those of its schema. */
export const commonAttributes: readonly Attribute[] = [
  { name: 'schemas', type: 'string', multiValued: true, mutability: 'readOnly', description: 'What it is made of.' },
  { name: 'id', type: 'string', caseExact: true, mutability: 'readOnly', returned: 'always', description: 'Its id.' },
  { name: 'externalId', type: 'string', caseExact: true, description: 'Its id at the client.' },
  {
    name: 'meta',
    type: 'complex',
    mutability: 'readOnly',
    description: 'About the resource itself.',
    subAttributes: [
      { name: 'resourceType', type: 'string', description: 'Its type.' },
      { name: 'created', type: 'dateTime', description: 'When it was made.' },
      { name: 'lastModified', type: 'dateTime', description: 'When it was changed last.' },
      { name: 'location', type: 'reference', description: 'Its address.' },
      { name: 'version', type: 'string', description: 'Its ETag.' },
    ],
  },
]

/** An attribute of this name, in any case. */
export function attributeNamed(attributes: readonly Attribute[], name: string): Attribute | undefined {
  const wanted = name.toLowerCase()
  return attributes.find(one => one.name.toLowerCase() === wanted)
}

/** The attributes that stand at the top of a resource. */
export const topAttributes = ({ schema }: ResourceType): readonly Attribute[] => [
  ...commonAttributes,
  ...schema.attributes,
]

/** The extension with this address, in any case. */
export function extensionNamed({ extensions }: ResourceType, id: string): Schema | undefined {
  const wanted = id.toLowerCase()
  return extensions.find(one => one.id.toLowerCase() === wanted)
}

/** A JSON object, and no list. */
export function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
