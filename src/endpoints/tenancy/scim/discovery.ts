/** What SCIM can do here: its abilities, its types of resources, and their schemas (RFC 7644, section 4). */
import { z } from 'zod'
import { groupType, userType } from '../../../access/directory/schemas.ts'
import type { Endpoint, Services } from '../../../core/endpoint.ts'
import { GatewayError } from '../../../core/errors.ts'
import { commonAttributes } from '../../../lib/scim/schema.ts'
import type { Attribute, ResourceType, Schema, Values } from '../../../lib/scim/schema.ts'
import { readQuery } from '../../common/checked-input.ts'
import { bulkLimits } from './bulk.ts'
import { listSchema, resourceList, pageMax, scim, scimAnswer, scimBase } from './answers.ts'
import type { ScimRequest } from './answers.ts'
import { listOf, named, open, shape, text } from '../../openapi/schema.ts'

const fixedMeta = shape({ resourceType: text, location: text })
const scimAbilitiesSchema = named('ScimAbilities', () => open(shape({ schemas: listOf(text), meta: fixedMeta })))

const scimDescriptionSchema = named('ScimDescription', () =>
  open(shape({ id: text, name: text, description: text, meta: fixedMeta })),
)

const scimDescriptionListSchema = named('ScimDescriptionList', () => resourceList(scimDescriptionSchema))

const urn = 'urn:ietf:params:scim:schemas:core:2.0'
const types: readonly ResourceType[] = [userType, groupType]

const metaOf = ({ current }: Services, resourceType: string, path: string) => ({
  resourceType,
  location: `${current.settings.signIn.baseUrl ?? current.settings.signIn.rootPath}${scimBase}${path}`,
})

const abilities = scim({
  method: 'GET',
  paths: ['/ServiceProviderConfig'],
  operationId: 'getScimAbilities',
  summary: 'What SCIM can do here',
  answer: scimAbilitiesSchema,
  handle: ({ services }) =>
    scimAnswer({
      schemas: [`${urn}:ServiceProviderConfig`],
      patch: { supported: true },
      bulk: { supported: true, ...bulkLimits },
      filter: { supported: true, maxResults: pageMax },
      changePassword: { supported: false },
      sort: { supported: false },
      etag: { supported: true },
      pagination: {
        cursor: true,
        index: true,
        defaultPaginationMethod: 'index',
        defaultPageSize: 100,
        maxPageSize: pageMax,
      },
      authenticationSchemes: [
        {
          type: 'oauthbearertoken',
          name: 'SCIM token',
          description: 'A token of POST /scim/tokens, as `Authorization: Bearer <token>`.',
          specUri: 'https://www.rfc-editor.org/rfc/rfc6750',
          primary: true,
        },
      ],
      meta: metaOf(services, 'ServiceProviderConfig', '/ServiceProviderConfig'),
    }),
})

function shownType(services: Services, { name, endpoint, description, schema, extensions }: ResourceType): Values {
  return {
    schemas: [`${urn}:ResourceType`],
    id: name,
    name,
    endpoint,
    description,
    schema: schema.id,
    schemaExtensions: extensions.map(one => ({ schema: one.id, required: false })),
    meta: metaOf(services, 'ResourceType', `/ResourceTypes/${name}`),
  }
}

function shownAttribute(attribute: Attribute): Values {
  const { subAttributes, elementsMax: _, ...one } = attribute
  return {
    multiValued: false,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...one,
    ...(subAttributes && { subAttributes: subAttributes.map(shownAttribute) }),
  }
}

function shownSchema(services: Services, { id, name, description, attributes }: Schema): Values {
  const external = commonAttributes.filter(one => one.name === 'externalId' && !id.includes(':extension:'))
  return {
    schemas: [`${urn}:Schema`],
    id,
    name,
    description,
    attributes: [...external, ...attributes].map(shownAttribute),
    meta: metaOf(services, 'Schema', `/Schemas/${id}`),
  }
}

const describedTypes = (services: Services): Values[] => types.map(type => shownType(services, type))

const describedSchemas = (services: Services): Values[] =>
  types.flatMap(({ schema, extensions }) => [schema, ...extensions]).map(one => shownSchema(services, one))

/** A list and each of its parts. RFC 7644 4: filters are refused here. */
function described(path: string, what: string, all: (services: Services) => Values[]): Endpoint[] {
  const list = ({ services, request }: ScimRequest) => {
    const { filter } = readQuery(request, z.object({ filter: z.string().optional() }))
    if (filter !== undefined) throw new GatewayError('forbidden', `${path} takes no filter; leave it out`)
    const items = all(services)
    return scimAnswer({
      schemas: [listSchema],
      totalResults: items.length,
      itemsPerPage: items.length,
      startIndex: 1,
      Resources: items,
    })
  }
  return [
    scim({
      method: 'GET',
      paths: [path],
      operationId: `list${what}s`,
      summary: `Every one of ${path}`,
      answer: scimDescriptionListSchema,
      handle: list,
    }),
    scim({
      method: 'GET',
      paths: [`${path}/{id}`],
      operationId: `get${what}`,
      summary: `One of ${path}`,
      answer: scimDescriptionSchema,
      handle({ services, id }) {
        const found = all(services).find(one => String(one.id).toLowerCase() === id.toLowerCase())
        if (found) return scimAnswer(found)
        throw new GatewayError('not-found', `there is no '${id.slice(0, 100)}'; GET ${scimBase}${path} lists all`)
      },
    }),
  ]
}

/** Everything that describes SCIM. */
export const discoveryEndpoints: readonly Endpoint[] = [
  abilities,
  ...described('/ResourceTypes', 'ScimResourceType', describedTypes),
  ...described('/Schemas', 'ScimSchema', describedSchemas),
]
