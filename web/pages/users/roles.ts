import type { User } from '../../api/schema.d.ts'
import { t } from '../../strings/index.ts'
import type { StringKey } from '../../strings/index.ts'

export type UserRole = User['user_role']

export const userRoles: readonly UserRole[] = [
  'internal_user',
  'internal_user_viewer',
  'proxy_admin_viewer',
  'proxy_admin',
]

const names: Readonly<Record<UserRole, StringKey>> = {
  internal_user: 'users.role.user',
  internal_user_viewer: 'users.role.userViewer',
  proxy_admin_viewer: 'users.role.adminViewer',
  proxy_admin: 'users.role.admin',
}

/** The role in words. */
export const roleName = (role: UserRole): string => t(names[role])
