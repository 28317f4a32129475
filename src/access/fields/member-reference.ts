/** How requests name the members of teams and organizations. */
import { z } from 'zod'
import { lazy } from '../../lib/lazy.ts'
import { emailAddress, keyName } from './checks.ts'

/** The fields that name a user, by id or by address. */
export const memberReference = lazy(() => ({
  user_id: keyName().optional(),
  user_email: emailAddress().optional(),
}))
/** A user is named. */
export const isNamed = (one: { readonly user_id?: unknown; readonly user_email?: unknown }): boolean =>
  one.user_id !== undefined || one.user_email !== undefined
/** What `isNamed` demands. */
export const oneOfBoth = 'give `user_id` or `user_email`'

/** Whether a member who is no user yet is made one. */
export const createsMissingUsers = lazy(() =>
  z
    .boolean()
    .default(true)
    .describe('For administrators: false = 404 for a user who does not exist, in place of a new one.'),
)
