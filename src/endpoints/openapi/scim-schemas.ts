/** Answers of SCIM 2.0 (RFC 7643, RFC 7644). */
import { anyObject, boolean, constant, dateTime, integer, listOf, open, reference, shape, text } from './schema.ts'
import type { Schema } from './schema.ts'

const meta = (resourceType: string): Schema =>
  shape({
    resourceType: constant(resourceType),
    created: dateTime,
    lastModified: dateTime,
    location: text,
    version: text,
  })
const resource = { schemas: listOf(text), id: text }
const list = (items: Schema): Schema =>
  shape(
    { schemas: listOf(text), totalResults: integer, itemsPerPage: integer, Resources: listOf(items) },
    { startIndex: integer, nextCursor: text },
  )
const fixedMeta = shape({ resourceType: text, location: text })

/** By their names under `#/components/schemas/`. */
export const scimSchemas: Readonly<Record<string, Schema>> = {
  ScimUser: open(
    shape(resource, {
      externalId: text,
      userName: text,
      displayName: text,
      active: boolean,
      emails: listOf(anyObject),
      groups: listOf(anyObject),
      meta: meta('User'),
    }),
  ),
  ScimGroup: open(
    shape(resource, { externalId: text, displayName: text, members: listOf(anyObject), meta: meta('Group') }),
  ),
  ScimUserList: list(reference('ScimUser')),
  ScimGroupList: list(reference('ScimGroup')),
  ScimAbilities: open(shape({ schemas: listOf(text), meta: fixedMeta })),
  ScimDescription: open(shape({ id: text, name: text, description: text, meta: fixedMeta })),
  ScimDescriptionList: list(reference('ScimDescription')),
  ScimBulkAnswer: shape({
    schemas: listOf(text),
    Operations: listOf(
      shape({ method: text, status: text }, { bulkId: text, location: text, version: text, response: anyObject }),
    ),
  }),
  ScimToken: shape({
    token: text,
    key: text,
    token_id: text,
    scim_url: text,
    expires: { ...dateTime, type: ['string', 'null'] },
  }),
}
