import { Empty } from "../../parts/empty.tsx";
import "./overview.css";

export function Overview() {
  return <Empty title="Overview" />;
}
