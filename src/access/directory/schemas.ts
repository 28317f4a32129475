/** What a directory may say of users and groups: the core schemas of RFC 7643 (4.1, 4.2, 4.3), without pictures. */
import type { Attribute, ResourceType, Schema } from '../../lib/scim/schema.ts'

const urn = 'urn:ietf:params:scim:schemas'
const text = (name: string, description: string): Attribute => ({ name, type: 'string', description })

/** A list of values with a kind of each: e-mail addresses, telephone numbers. */
const list = (name: string, description: string, canonicalValues: readonly string[] = []): Attribute => ({
  name,
  type: 'complex',
  multiValued: true,
  description,
  subAttributes: [
    text('value', 'The value.'),
    text('display', 'A name for people.'),
    { ...text('type', 'Its kind.'), ...(canonicalValues.length > 0 && { canonicalValues }) },
    { name: 'primary', type: 'boolean', description: 'The preferred one; at most one is.' },
  ],
})

const address: Attribute = {
  name: 'addresses',
  type: 'complex',
  multiValued: true,
  description: 'Postal addresses.',
  subAttributes: [
    text('formatted', 'The whole address.'),
    text('streetAddress', 'Street and number.'),
    text('locality', 'City.'),
    text('region', 'State or region.'),
    text('postalCode', 'Postal code.'),
    text('country', 'Country.'),
    { ...text('type', 'Its kind.'), canonicalValues: ['work', 'home', 'other'] },
    { name: 'primary', type: 'boolean', description: 'The preferred one; at most one is.' },
  ],
}

/** A reference to a resource. */
const references = (name: string, description: string, to: string, more: Partial<Attribute>): Attribute => ({
  name,
  type: 'complex',
  multiValued: true,
  description,
  subAttributes: [
    { ...text('value', 'Its id.'), caseExact: true },
    { name: '$ref', type: 'reference', referenceTypes: [to], description: 'Its address.' },
    text('display', 'Its name.'),
    text('type', `\`${to}\`.`),
  ],
  ...more,
})

const user: Schema = {
  id: `${urn}:core:2.0:User`,
  name: 'User',
  description: 'A person with keys.',
  attributes: [
    { ...text('userName', 'The name to sign in with at the directory.'), required: true, uniqueness: 'server' },
    {
      name: 'name',
      type: 'complex',
      description: 'The parts of the name.',
      subAttributes: [
        text('formatted', 'The whole name.'),
        text('familyName', 'Family name.'),
        text('givenName', 'Given name.'),
        text('middleName', 'Middle names.'),
        text('honorificPrefix', 'Title before the name.'),
        text('honorificSuffix', 'Title behind the name.'),
      ],
    },
    text('displayName', 'The name for people: the `user_alias`.'),
    text('nickName', 'Nickname.'),
    { name: 'profileUrl', type: 'reference', referenceTypes: ['external'], description: 'A page about the user.' },
    text('title', 'Job title.'),
    text('userType', 'Employee, contractor, ...'),
    text('preferredLanguage', 'Language.'),
    text('locale', 'Locale.'),
    text('timezone', 'Time zone.'),
    { name: 'active', type: 'boolean', description: 'false = keys, sessions and tokens of the user are refused.' },
    {
      ...text('password', 'Not kept: users sign in at their identity provider.'),
      mutability: 'writeOnly',
      returned: 'never',
    },
    list('emails', 'E-mail addresses; the primary one is the `user_email`.', ['work', 'home', 'other']),
    list('phoneNumbers', 'Telephone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
    list('ims', 'Addresses of messengers.'),
    address,
    references('groups', 'The teams of the user; members are changed on groups.', 'Group', { mutability: 'readOnly' }),
    list('entitlements', 'Entitlements.'),
    list('roles', 'Roles at the directory; they give no role here.'),
  ],
}

const enterprise: Schema = {
  id: `${urn}:extension:enterprise:2.0:User`,
  name: 'EnterpriseUser',
  description: 'A user of an enterprise.',
  attributes: [
    text('employeeNumber', 'Number of the employee.'),
    text('costCenter', 'Cost centre.'),
    text('organization', 'Organization.'),
    text('division', 'Division.'),
    text('department', 'Department.'),
    {
      name: 'manager',
      type: 'complex',
      description: 'The manager.',
      subAttributes: [
        text('value', 'Id of the manager.'),
        { name: '$ref', type: 'reference', referenceTypes: ['User'], description: 'Address of the manager.' },
        text('displayName', 'Name of the manager.'),
      ],
    },
  ],
}

const membersMax = 100_000

const group: Schema = {
  id: `${urn}:core:2.0:Group`,
  name: 'Group',
  description: 'A team.',
  attributes: [
    { ...text('displayName', 'The name of the group: the `team_alias`.'), required: true, uniqueness: 'server' },
    references('members', 'The members of the team.', 'User', { elementsMax: membersMax }),
  ],
}

/** The resource type of users. */
export const userType: ResourceType = {
  name: 'User',
  endpoint: '/Users',
  description: 'Users of the gateway.',
  schema: user,
  extensions: [enterprise],
}

/** The resource type of groups: teams and their members. */
export const groupType: ResourceType = {
  name: 'Group',
  endpoint: '/Groups',
  description: 'Teams and their members.',
  schema: group,
  extensions: [],
}
