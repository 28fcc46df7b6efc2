import { Empty } from "../../parts/empty.tsx";
import "./session.css";

export function Session() {
  return <Empty title="Session" />;
}
