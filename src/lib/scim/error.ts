/** What a request does not respect of SCIM 2.0 (RFC 7644, section 3.12). */

/** The words of `scimType`; `mutability` = a field that is read only, `noTarget` = a path that fits nothing. */
export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'mutability'
  | 'noTarget'
  | 'tooMany'
  | 'uniqueness'

/** Its message names what is wrong and what to do. */
export class ScimError extends Error {
  override readonly name = 'ScimError'
  readonly scimType: ScimType

  constructor(scimType: ScimType, message: string) {
    super(message)
    this.scimType = scimType
  }
}
