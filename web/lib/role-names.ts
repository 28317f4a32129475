import type { User } from '../api/schema.d.ts'
import type { StringKey } from '../strings/index.ts'

/** The names of the roles of users, by the gateway's word for them. */
export const roleNames: Readonly<Record<User['user_role'], StringKey>> = {
  internal_user: 'users.role.user',
  internal_user_viewer: 'users.role.userViewer',
  proxy_admin_viewer: 'users.role.adminViewer',
  proxy_admin: 'users.role.admin',
}
