import type { User } from '../../api/schema.d.ts'
import { roleNames } from '../../lib/role-names.ts'
import { t } from '../../strings/index.ts'

export type UserRole = User['user_role']

export const userRoles: readonly UserRole[] = [
  'internal_user',
  'internal_user_viewer',
  'proxy_admin_viewer',
  'proxy_admin',
]

/** The role in words. */
export const roleName = (role: UserRole): string => t(roleNames[role])
