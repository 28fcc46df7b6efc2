import { Empty } from "../../parts/empty.tsx";
import "./memory.css";

export function Memory() {
  return <Empty title="Memory" />;
}
